/**
 * docs/devices.md lists exactly the existing operations, members, term types, columns and log
 * types.
 */

import {
  deviceStates,
  deviceTypes,
  logTypes,
  MAXIMUM_BATCH_DEVICES,
  MAXIMUM_RECORDS,
  MAXIMUM_TAGS,
  newDeviceRequest,
} from '@gatehouse/device-api';
import type { ApiError } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { readConfiguration } from '../apps/device-service/src/config.ts';
import { deviceSubject } from '../apps/device-service/src/devices/pages.ts';
import {
  MAXIMUM_RECORD_AGE_MILLISECONDS,
  MAXIMUM_RECORD_LEAD_MILLISECONDS,
} from '../apps/device-service/src/logs/rules.ts';
import { logSubject } from '../apps/device-service/src/logs/sql.ts';
import { productSubject } from '../apps/device-service/src/products.ts';
import { findOperator } from '../apps/device-service/src/query/comparison.ts';
import { COUNT_LIMIT, MAXIMUM_OFFSET } from '../apps/device-service/src/query/pages.ts';
import {
  MAXIMUM_PAGE_SIZE,
  parseQuery,
  type QuerySubject,
} from '../apps/device-service/src/query/query.ts';
import { parseWhere } from '../apps/device-service/src/query/where.ts';
import { deviceRoutes } from '../apps/gateway/src/routes/device-routes.ts';
import { firstName, readDocument, section, tableRows } from './documents.ts';

const guide = readDocument('docs/devices.md');
const textOf = (heading: string) => section(guide, heading);

/** The texts in backticks, in order. */
const inCode = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

describe('docs/devices.md, the operations', () => {
  const rows = tableRows(guide, 'The operations');

  test('are those of the gateway, in the same order, with scope and first path', () => {
    const stated = rows.map((row) => {
      const [, call, scope] = row.cells;
      return [firstName(row), ...inCode(call), inCode(scope)[0]];
    });
    const served = [...Map.groupBy(deviceRoutes, ({ operation }) => operation).values()].map(
      ([first]) => [first?.operation, `${first?.method} ${first?.path}`, first?.scope],
    );
    expect(stated).toEqual(served);
  });

  test('have the other paths that the page states, and no more', () => {
    const stated = rows.flatMap(({ cells: [, call, , also = ''] }) => {
      const [method = '', path = ''] = inCode(call)[0]?.split(' ') ?? [];
      const methods = [method, ...inCode(also).filter((word) => word === 'GET')];
      const [start = '', ending = ''] = /^(.*?)(\/_\w+)?$/.exec(path)?.slice(1) ?? [];
      const endings = [
        ending,
        ...inCode(also).filter((word) => word.startsWith('/') && !word.startsWith('/api/')),
        ...(also.includes('no ending') ? [''] : []),
      ];
      const paths = [
        ...alike(start).flatMap((place) => endings.map((end) => place + end)),
        ...inCode(also).filter((word) => word.startsWith('/api/')),
      ];
      return methods.flatMap((each) => paths.map((whole) => `${each} ${whole}`));
    });
    const served = deviceRoutes.map(({ method, path }) => `${method} ${path}`);
    expect(stated.toSorted()).toEqual(served.toSorted());
  });

  /** The paths that are synonyms according to the page. */
  function alike(path: string): readonly string[] {
    const [before = ''] = textOf('The operations').split('The table');
    const places = inCode(before);
    const ofOne = places.filter((place) => place.endsWith('{deviceId}'));
    const ofAll = places.filter((place) => !place.endsWith('{deviceId}'));
    const group = [ofOne, ofAll].find(([first = '']) => path.startsWith(first)) ?? [''];
    return group.map((place) => place + path.slice(group[0]?.length));
  }
});

describe('docs/devices.md, the members', () => {
  test('of a new device are those that the server reads', () => {
    const stated = tableRows(guide, 'The life of a device').map((row) => [
      firstName(row),
      row.cells[1] === 'required',
    ]);
    const { success, data: defaults } = newDeviceRequest.safeParse({ name: 'n', productId: 'p' });
    expect(success).toBe(true);
    const read = Object.keys(newDeviceRequest.shape).map((name) => [
      name,
      name in (defaults ?? {}),
    ]);
    expect(stated).toEqual(read);
  });

  test('of a query have the stated defaults', () => {
    const defaults = Object.fromEntries(
      tableRows(guide, 'Queries').map((row) => [firstName(row), inCode(row.cells[1])[0]]),
    );
    const taken = parseQuery({}, deviceSubject);
    expect(defaults).toMatchObject({
      firstPageIndex: String(taken.pageIndex),
      pageSize: String(taken.pageSize),
      paging: String(taken.paging),
    });
  });

  test.each([
    ['The reply', `stops at ${COUNT_LIMIT}.`],
    ['Create many devices, and update one', `up to ${MAXIMUM_BATCH_DEVICES} devices`],
    ['Queries', `More than ${MAXIMUM_PAGE_SIZE} means ${MAXIMUM_PAGE_SIZE}.`],
    ['Queries', `first ${MAXIMUM_OFFSET} records`],
    ['Tags', `has at most ${MAXIMUM_TAGS} tags`],
    ['Logs', `up to ${MAXIMUM_RECORDS}.`],
    ['Logs', `more than ${MAXIMUM_RECORD_AGE_MILLISECONDS / 86_400_000} days in the past`],
    ['Logs', `more than ${MAXIMUM_RECORD_LEAD_MILLISECONDS / 60_000} minutes in the future`],
    ['Logs', `deleted ${readConfiguration({}).logRetentionDays} days after`],
  ])('%s: “%s”', (heading, words) => {
    expect(textOf(heading).replace(/\s+/g, ' ')).toContain(words);
  });
});

describe('docs/devices.md, the query grammar', () => {
  const termTypes = tableRows(guide, 'Terms');

  test('names exactly the term types', () => {
    const stated = termTypes.flatMap(({ cells: [names] }) => inCode(names));
    expect(stated.toSorted()).toEqual(
      namedInRefusal({ column: 'id', termType: 'unknown' }).toSorted(),
    );
  });

  test('puts synonyms into one row, with their operators', () => {
    for (const { cells } of termTypes) {
      const operators = new Set(inCode(cells[0]).map(findOperator));
      for (const sign of inCode(cells[1])) {
        const condition = parseWhere(`createTime ${sign} 1`, deviceSubject.columns);
        operators.add(condition?.kind === 'comparison' ? condition.operator : undefined);
      }
      expect(operators.size).toBe(1);
    }
    const signs = termTypes.flatMap(({ cells: [, also] }) => inCode(also));
    expect(signs).toEqual(['=', '!=', '>', '>=', '<', '<=']);
  });

  test.each([
    ['a device', deviceSubject],
    ['a product', productSubject],
    ['a log record', logSubject],
  ])('names the columns of %s by kind', (of, { columns }: QuerySubject) => {
    const row = tableRows(guide, 'Columns').find(({ cells }) => cells[0] === of);
    const ofKind = (kind: string) =>
      Object.keys(columns).filter((name) => columns[name]?.kind === kind);
    expect(row?.cells.slice(1).map((cell) => inCode(cell))).toEqual([
      ofKind('text'),
      ofKind('integer'),
      ofKind('enum'),
    ]);
  });

  test('names the values of state and of deviceType', () => {
    const [, listed = ''] =
      /The fixed values of ([\s\S]*?) Those of `type`/.exec(textOf('Columns')) ?? [];
    expect(inCode(listed)).toEqual(['state', ...deviceStates, 'deviceType', ...deviceTypes]);
  });

  test('names every type of log record', () => {
    const type = tableRows(guide, 'Logs').find((row) => firstName(row) === 'type');
    expect(inCode(type?.cells[2])).toEqual(logTypes);
  });

  /** The list at the end of the service's error message. */
  function namedInRefusal(term: object): readonly string[] {
    try {
      parseQuery({ terms: [term] }, deviceSubject);
    } catch (error) {
      const [problem] = (error as ApiError).result as readonly { readonly message: string }[];
      return problem?.message.replace(/^.*: use one of /, '').split(', ') ?? [];
    }
    throw new Error('The term was taken.');
  }
});
