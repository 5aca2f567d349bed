import { release } from '../../command-line/release.ts';
import { type Finding, finding } from '../finding.ts';

/** The oldest major versions with which Gatehouse is tested. */
const oldestTested = { Redis: 7, PostgreSQL: 15 } as const;

/** @param metrics the text of `/metrics` */
export function checkRelease(app: string, metrics: string): readonly Finding[] {
  const version = /^gatehouse_build_info\{[^}]*\bversion="([\w.+-]+)"/m.exec(metrics)?.[1];
  return version === undefined || version === release
    ? []
    : [finding('versions_differ', `The ${app} is version ${version}, this command ${release}.`)];
}

export function checkEngineVersion(
  name: keyof typeof oldestTested,
  version: string,
): readonly Finding[] {
  const [, number, major] = /^((\d+)[\d.]*)/.exec(version) ?? [];
  return Number(major) < oldestTested[name]
    ? [finding('version_not_supported', `${name} is version ${number}.`)]
    : [];
}
