import type { ConfigurationProblem } from './configuration-error.ts';
import { editDistance } from './edit-distance.ts';
import { knownVariables, otherWordsForOurs, variablesOfOthers } from './known-variables.ts';

/** Shorter names (`HOST`) resemble too much that belongs to others. */
const SHORTEST_NAME = 8;
/** From here on two mistakes are taken for one name: `CLIENT_REQUEST_PER_MINUT`. */
const LONG_NAME = 14;
/** From here on both may be in one word: `AUTORISATION`. In a shorter one they make another word: `PORT`, `HOST`. */
const LONG_WORD = 11;

const known: ReadonlySet<string> = new Set(knownVariables);
const others: ReadonlySet<string> = new Set(variablesOfOthers);
const meanable = knownVariables
  .filter((name) => name.length >= SHORTEST_NAME)
  .map((name) => ({ name, singularName: singular(name), words: name.split('_') }));

export interface MisspeltVariable extends ConfigurationProblem {
  /** The variable of ours that is like it most. */
  readonly meant: string;
}

/**
 * Variables that are set, that nobody reads, and whose name is nearly one of ours: whoever wrote `SECURTY_PROFILE=strict`
 * believes that the profile is strict. An app refuses to start with them.
 */
export function findMisspeltVariables(
  environment: Readonly<Record<string, string | undefined>>,
): readonly MisspeltVariable[] {
  const linked = linkedServices(Object.keys(environment));
  return Object.entries(environment).flatMap(([name, value]) => {
    const isSet = value !== undefined && value !== '';
    const meant = isSet && !known.has(name) ? findMeant(name) : undefined;
    if (meant === undefined || isLink(name, linked)) {
      return [];
    }
    return [
      { name, meant, message: `is no variable of Gatehouse, ${meant} is: rename or unset it` },
    ];
  });
}

/** The nearest of the names that this one can be a misspelling of; undefined where it is somebody else's. */
function findMeant(name: string): string | undefined {
  const plain = name.toUpperCase().replace(/[-.]/g, '_');
  if (others.has(plain)) {
    return undefined;
  }
  if (Object.hasOwn(otherWordsForOurs, plain)) {
    return otherWordsForOurs[plain];
  }
  const [singularName, words] = [singular(plain), plain.split('_')];
  return meanable
    .filter(
      (ours) =>
        editDistance(plain, ours.name, 1) <= 1 ||
        editDistance(singularName, ours.singularName, 1) <= 1 ||
        (ours.name.length >= LONG_NAME && areTwoMistakes(words, ours.words)),
    )
    .map((ours) => ({ name: ours.name, distance: editDistance(plain, ours.name) }))
    .sort((a, b) => a.distance - b.distance)[0]?.name;
}

/** Word by word, because two mistakes in one short word make another name: `GATEWAY_HOST` is no `GATEWAY_PORT`. */
function areTwoMistakes(words: readonly string[], ourWords: readonly string[]): boolean {
  let left = 2;
  return (
    words.length === ourWords.length &&
    ourWords.every((word, i) => {
      const mistakes = editDistance(words[i] ?? '', word, left);
      left -= mistakes;
      return left >= 0 && (mistakes <= 1 || word.length >= LONG_WORD);
    })
  );
}

/** `TRUSTED_PROXY` for `TRUSTED_PROXIES`, `ADDRESS_RATE_LIMIT` for `ADDRESS_RATE_LIMITS`. */
function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}

/**
 * Services that Kubernetes, or a link of Docker, tells every container about: a service called `gateways` sets
 * `GATEWAYS_PORT`, and with it `GATEWAYS_PORT_8844_TCP_ADDR`, which nobody else does.
 */
function linkedServices(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => /^(.+)_PORT_\d+_(?:TCP|UDP|SCTP)_ADDR$/.exec(name)?.[1] ?? []);
}

function isLink(name: string, services: readonly string[]): boolean {
  return services.some(
    (service) =>
      name.startsWith(`${service}_`) &&
      /^(?:PORT|SERVICE_(?:HOST|PORT))(?:_|$)/.test(name.slice(service.length + 1)),
  );
}
