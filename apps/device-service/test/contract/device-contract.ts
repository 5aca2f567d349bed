import { routes } from '@gatehouse/device-api';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { BootedApp } from '../booted-app.ts';
import { camera, createDeviceClient } from '../device-client.ts';

/** The words that some path has where another path has the parameter. */
function wordsAt(parameter: string): readonly string[] {
  const all = routes.map(({ path }) => path.split('/'));
  const words = all.flatMap((path) => {
    const index = path.indexOf(parameter);
    const before = path.slice(0, index).join('/');
    return index < 0
      ? []
      : all.flatMap((other) => (other.slice(0, index).join('/') === before ? other[index] : []));
  });
  return [...new Set(words)].filter((word) => word !== undefined && word !== parameter) as string[];
}

/** One problem with this property. */
const problem = (property: string) => [{ property, message: expect.any(String) }];

export function deviceContract(app: BootedApp): void {
  describe('creating a device', () => {
    const client = createDeviceClient(app, 'org-create');

    test('returns the stored device, and creates the product with its first device', async () => {
      const reply = await client.create({ id: 'created', ...camera });
      expect(reply.body).toMatchObject({ status: 200, code: 'success' });
      expect(reply.result).toEqual((await client.detail('created')).result);
      const second = await client.create({ id: 'created-2', name: 'B', productId: 'cameras' });
      expect(second.result.productName).toBe('Cameras');
    });

    test('generates an id if the body has none', async () => {
      const { id } = (await client.create({ ...camera, id: null })).result;
      expect(id).toMatch(/^[0-9A-Za-z_-]{1,64}$/);
      expect((await client.detail(id)).status).toBe(200);
    });

    test('lets two organizations use the same id, each for its own device', async () => {
      for (const org of ['org-a', 'org-b']) {
        expect((await client.create({ id: 'shared', ...camera, name: org }, org)).status).toBe(200);
      }
      expect((await client.detail('shared', 'org-a')).result.name).toBe('org-a');
    });

    test('rejects an existing id with duplicate_key and changes nothing', async () => {
      await client.create({ id: 'twice', ...camera });
      const other = { name: 'Other', productId: 'never-made', productName: 'P' };
      const again = await client.create({ id: 'twice', ...other });

      expect(again.body).toMatchObject({ status: 400, code: 'duplicate_key' });
      expect((await client.detail('twice')).result.name).toBe('Camera');
      const { productName: _, ...productless } = other;
      const message = 'is required for a product that does not exist yet';
      expect((await client.create(productless)).result).toEqual([
        { property: 'productName', message },
      ]);
    });

    test('lets exactly one of 50 concurrent creates of one id succeed', async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          client.create({ id: 'contended', ...camera, name: `D${i}` }),
        ),
      );
      const winners = replies.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      expect(replies.filter(({ body }) => body.code === 'duplicate_key')).toHaveLength(49);
      expect((await client.detail('contended')).result).toEqual(winners[0]?.result);
    });

    test('ignores members that only the server sets', async () => {
      const times = { createTime: 1, onlineTime: 1, registerTime: 1 };
      const others = { orgId: 'org-2', state: 'online', address: '/10.0.0.1', metadata: 'x' };
      const device = { id: 'modest', ...camera, ...times, ...others, somethingElse: [] };
      const { result } = await client.create(device);

      const state = { value: 'notActive' };
      expect(result).toMatchObject({ orgId: 'org-create', state, onlineTime: 0, address: '/' });
      expect(result.createTime).toBeGreaterThan(1);
      expect(result.registerTime).toBeGreaterThan(1);
      expect(result).not.toHaveProperty('somethingElse');
    });

    test.each([
      ...wordsAt('{deviceId}').map((id) => ['id', id] as const),
      ...['_query', '_deploy', '.', '..', ''].map((id) => ['id', id] as const),
      ...wordsAt('{productId}').map((productId) => ['productId', productId] as const),
      ...['_query', '.', '..', '..;a', '.;'].map((id) => ['productId', id] as const),
    ])('rejects the %s %j, which no path could address', async (property, value) => {
      const org = 'org-words';
      const device = { id: 'addressable', ...camera, [property]: value };
      const single = await client.create(device, org);
      const batch = await client.createAll([device], org);

      const problems = [{ property, message: expect.stringMatching(/^must /) }];
      expect(single.body).toMatchObject({ code: 'illegal_argument', result: problems });
      expect(batch.result.items).toMatchObject([{ status: 400, problems }]);
      expect((await client.query({}, org)).result.total).toBe(0);
    });

    test('reports every invalid member', async () => {
      const { body } = await client.create({ id: 'a b', name: ' ', productId: 7 });
      const result = ['id', 'name', 'productId'].flatMap(problem);
      expect(body).toMatchObject({ code: 'illegal_argument', result });
    });
  });

  describe('the device detail', () => {
    const client = createDeviceClient(app, 'org-detail');

    test('has every field of the specification, with the values of a device that never connected', async () => {
      const configuration = { isDebug: 'true', parseType: '' };
      await client.create({ id: 'full', ...camera, configuration });
      const { body, result } = await client.detail('full');

      expect(body).toEqual({
        status: 200,
        code: 'success',
        message: 'success',
        timestamp: expect.any(Number),
        result: {
          id: 'full',
          ...camera,
          protocol: '',
          transport: '',
          orgId: 'org-detail',
          deviceType: { text: 'Direct-connected device', value: 'device' },
          state: { text: 'Not activated', value: 'notActive' },
          address: '/',
          onlineTime: 0,
          offlineTime: 0,
          createTime: expect.any(Number),
          registerTime: result.createTime,
          metadata: '{"events":[],"properties":[],"functions":[],"tags":[]}',
          configuration,
          tags: [],
        },
      });
    });

    test.each([
      ['zh-CN,zh;q=0.9,en;q=0.8', '未启用', '直连设备'],
      ['en-GB,zh;q=0.5', 'Not activated', 'Direct-connected device'],
      ['fr', 'Not activated', 'Direct-connected device'],
    ])('has the labels of the language that %s prefers', async (language, state, type) => {
      await client.create({ id: 'labelled', ...camera });
      const { result } = await client.detail('labelled', 'org-detail', language);
      expect([result.state, result.deviceType]).toEqual([
        { text: state, value: 'notActive' },
        { text: type, value: 'device' },
      ]);
    });

    test('is 404 for ids that no device can have', async () => {
      for (const id of ['a%2Fb', '..%2f..', '%00', 'x'.repeat(65), '%F0%9F%98%80']) {
        expect((await client.detail(id)).status).toBe(404);
      }
    });
  });

  test('A device of another organization gets the same reply as an unknown one from every operation.', async () => {
    const client = createDeviceClient(app, 'org-stranger');
    await client.create({ id: 'private', ...camera }, 'org-owner');
    const calls = (id: string): readonly (readonly [string, string, unknown?])[] => [
      ['GET', `/api/v1/device/${id}/_detail`],
      ['PATCH', `/device/instance/${id}`, { name: 'x' }],
      ['POST', `/device/instance/${id}/_deploy`],
      ['POST', `/device/instance/${id}/_unDeploy`],
      ['DELETE', `/device/instance/${id}`],
      ['PATCH', `/device/instance/${id}/tag`, { key: 'k', value: 'v' }],
      ['GET', `/device/instance/${id}/tags`],
      ['DELETE', `/device/instance/${id}/tag/k`],
      ['POST', `/api/v1/device/${id}/log`, { type: 'event' }],
      ['GET', `/api/v1/device/${id}/log/_query`],
    ];
    const unknown = calls('missing');
    for (const [index, call] of calls('private').entries()) {
      const foreign = await client.call(...call);
      const missing = await client.call(...(unknown[index] ?? call));
      expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
      expect({ ...foreign.body, timestamp: 0 }).toEqual({ ...missing.body, timestamp: 0 });
    }
    expect((await client.list('')).result).toEqual([]);
    expect((await client.detail('private', 'org-owner')).result.name).toBe('Camera');
  });

  describe('listing devices', () => {
    const client = createDeviceClient(app, 'org-list');

    beforeAll(async () => {
      for (let i = 0; i < 30; i += 1) {
        await client.create({ id: `d-${String(i).padStart(2, '0')}`, ...camera });
      }
    });

    test('returns the newest first, 25 by default, with the count in X-Total-Count', async () => {
      const { result, headers } = await client.list('');
      expect(result).toHaveLength(25);
      expect(headers['x-total-count']).toBe('30');
      const order = result.map(({ createTime, id }) => [-createTime, id] as const);
      expect(order).toEqual(
        [...order].sort(([a, x], [b, y]) => a - b || (String(x) < String(y) ? -1 : 1)),
      );
      const [item] = result;
      expect(item).toMatchObject({ orgId: 'org-list', state: { value: 'notActive' } });
      expect(item?.registerTime).toBe(item?.createTime);
      expect(item?.registryTime).toBe(item?.createTime);
    });

    test('has pages without gaps or repetition, and an empty one past the end', async () => {
      const sizes = [8, 8, 8, 6, 0];
      const pages = await Promise.all(
        sizes.map((_, i) => client.list(`?pageIndex=${i}&pageSize=8`)),
      );
      expect(pages.map(({ result }) => result.length)).toEqual(sizes);
      expect(new Set(pages.flatMap(({ result }) => result.map(({ id }) => id))).size).toBe(30);
    });

    test('accepts any index, and limits the page size to 1000', async () => {
      const past = await client.list(`?pageIndex=${Number.MAX_SAFE_INTEGER}&pageSize=1000`);
      expect([past.result, past.headers['x-total-count']]).toEqual([[], '30']);
      expect((await client.list('?pageSize=1000000000')).result).toHaveLength(30);
    });

    test.each([
      ...['pageSize=0', 'pageSize=-1', 'pageSize=1e3', 'pageSize=NaN', 'pageSize=', 'pageSize=1.5'],
      ...['pageSize=5&pageSize=5', 'pageIndex=9007199254740992', 'pageIndex=-1', 'pageIndex=%zz'],
    ])('rejects %s and names the property', async (query) => {
      const { body } = await client.list(`?${query}`);
      const [property = ''] = query.split('=');
      expect(body).toMatchObject({ code: 'illegal_argument', result: problem(property) });
    });
  });

  describe('changing a device', () => {
    const client = createDeviceClient(app, 'org-change');
    const patch = (id: string, body: unknown) =>
      client.call('PATCH', `/device/instance/${id}`, body);

    test('changes the members in the body, merges the configuration, and keeps the other members', async () => {
      await client.create({ id: 'changed', ...camera, configuration: { a: '1', b: '2' } });
      const ignored = { state: 'online', orgId: 'org-2', id: 'other' };
      const configuration = { b: null, c: '3' };
      const { result } = await patch('changed', {
        ...{ name: 'Renamed', protocol: 'mqtt', configuration, ...ignored },
      });

      expect(result).toMatchObject({
        id: 'changed',
        orgId: 'org-change',
        name: 'Renamed',
        configuration: { a: '1', c: '3' },
        protocol: 'mqtt',
        transport: '',
        state: { value: 'notActive' },
      });
      expect((await client.detail('changed')).result).toEqual(result);
    });

    test('restores the value of the product with null', async () => {
      await client.create({ id: 'own', ...camera, metadata: '{"own":1}' });
      expect((await patch('own', { metadata: null })).result.metadata).toBe(
        '{"events":[],"properties":[],"functions":[],"tags":[]}',
      );
    });

    test('loses no key if another request changes the configuration at the same time', async () => {
      await client.create({ id: 'merged', ...camera });
      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
      await Promise.all(keys.map((key) => patch('merged', { configuration: { [key]: 'x' } })));
      const { configuration } = (await client.detail('merged')).result;
      expect(Object.keys(configuration).sort()).toEqual([...keys].sort());
    });

    test.each([
      [{ name: '' }, 'name'],
      [{ name: null }, 'name'],
      [{ productId: 'other' }, 'productId'],
      [{ configuration: { a: 1 } }, 'configuration.a'],
      [{ configuration: { '': 'x' } }, 'configuration.'],
      [{ configuration: [] }, 'configuration'],
      [{ metadata: 5 }, 'metadata'],
      [[], 'body'],
    ])('rejects %j', async (body, property) => {
      await client.create({ id: 'strict', ...camera });
      const { status, result } = await patch('strict', body);
      expect([status, result]).toEqual([400, problem(property)]);
    });
  });

  describe('deploying and deleting a device', () => {
    const client = createDeviceClient(app, 'org-deploy');
    const post = (path: string) => client.call('POST', path);
    const remove = (id: string) => client.call('DELETE', `/device/instance/${id}`);

    test('changes it to offline, and back to notActive', async () => {
      await client.create({ id: 'deployed', ...camera });
      for (const [path, state] of [
        ['/api/v1/device/deployed/_deploy', 'offline'],
        ['/device/instance/deployed/deploy', 'offline'],
        ['/device-instance/deployed/_unDeploy', 'notActive'],
      ] as const) {
        expect((await post(path)).result.state.value).toBe(state);
      }
    });

    test('changes it to online if a connection exists', async () => {
      await client.create({ id: 'early', ...camera });
      await client.report('early', { type: 'online', address: '10.0.0.9:1883' });
      const before = (await client.detail('early')).result;
      expect(before).toMatchObject({ state: { value: 'notActive' }, address: '10.0.0.9:1883' });
      expect((await post('/device/instance/early/_deploy')).result.state.value).toBe('online');
    });

    test('is possible only while it is notActive', async () => {
      await client.create({ id: 'doomed', ...camera });
      await post('/device/instance/doomed/_deploy');
      expect((await remove('doomed')).body).toMatchObject({
        code: 'illegal_argument',
        result: problem('state'),
      });
      await post('/device/instance/doomed/_unDeploy');
      expect((await remove('doomed')).body).toEqual({
        ...{ status: 200, code: 'success', message: 'success', timestamp: expect.any(Number) },
      });
      expect((await client.detail('doomed')).status).toBe(404);
      expect((await remove('doomed')).status).toBe(404);
    });

    test('also removes its tags and its log, so that a later device with the id starts empty', async () => {
      await client.create({ id: 'phoenix', ...camera });
      await client.call('PATCH', '/device/instance/phoenix/tag', { key: 'k', value: 'v' });
      await client.report('phoenix', { type: 'event', content: 'before' });
      await remove('phoenix');
      await client.create({ id: 'phoenix', ...camera });

      expect((await client.detail('phoenix')).result.tags).toEqual([]);
      expect((await client.log('phoenix')).result).toEqual([]);
    });

    test('keeps the counts correct, as every change does', async () => {
      const counted = createDeviceClient(app, 'org-counted');
      for (const id of ['a', 'b', 'c']) {
        await counted.create({ id, ...camera });
      }
      await counted.call('POST', '/device/instance/a/_deploy');
      await counted.call('DELETE', '/device/instance/b');
      for (const [body, count] of [
        [{}, 2],
        [{ where: 'state = notActive' }, 1],
        [{ where: 'state = offline and productId = cameras' }, 1],
        [{ where: 'productId in (cameras, nothing)' }, 2],
        [{ where: 'productId = nothing' }, 0],
      ] as const) {
        expect((await counted.call('POST', '/device/instance/_count', body)).result).toBe(count);
      }
      expect((await counted.list('?pageSize=1')).headers['x-total-count']).toBe('2');
    });
  });

  describe('tags', () => {
    const client = createDeviceClient(app, 'org-tag');
    const set = (id: string, body: unknown) =>
      client.call('PATCH', `/device/instance/${id}/tag`, body);
    const list = async (id: string) =>
      (await client.call('GET', `/device/instance/${id}/tags`)).result;

    test('can be set, replaced by key, listed, read in the detail, and removed', async () => {
      await client.create({ id: 'tagged', ...camera });
      const first = await set('tagged', { key: 'room', value: 'kitchen' });
      const room = {
        ...{ key: 'room', value: 'cellar', name: 'Room', type: 'enum', description: 'where' },
      };
      const second = await set('tagged', [room, { key: 'floor', value: '' }]);

      const made = { id: 'tagged:room', deviceId: 'tagged', createTime: expect.any(Number) };
      const defaults = { key: 'room', name: 'room', value: 'kitchen', type: 'string' };
      expect(first.result).toEqual([{ ...made, ...defaults }]);
      expect(second.result).toMatchObject([
        { key: 'floor', value: '' },
        { ...room, createTime: first.result[0].createTime },
      ]);
      expect(await list('tagged')).toEqual(second.result);
      expect((await client.detail('tagged')).result.tags).toEqual(second.result);

      for (const [tag, status] of [
        [encodeURIComponent('tagged:room'), 200],
        ['floor', 200],
        ['floor', 404],
      ] as const) {
        const path = `/device/instance/tagged/tag/${tag}`;
        expect((await client.call('DELETE', path)).status).toBe(status);
      }
      expect(await list('tagged')).toEqual([]);
    });

    test('rejects an invalid tag, and more than 100 tags', async () => {
      await client.create({ id: 'crowded', ...camera });
      const many = (from: number) =>
        Array.from({ length: 60 }, (_, i) => ({ key: `k${from + i}`, value: 'v' }));
      expect((await set('crowded', many(0))).status).toBe(200);
      for (const body of [
        ...[many(60), [], {}, null, { key: 'a b', value: '' }, { key: 'a', value: 1 }],
        ...['.', '..'].map((key) => ({ key, value: '' })),
      ]) {
        expect((await set('crowded', body)).body.code).toBe('illegal_argument');
      }
      expect(await list('crowded')).toHaveLength(60);
      const twice = ['1', '2'].map((value) => ({ key: 'a', value }));
      expect((await set('crowded', twice)).result).toEqual(problem('[1].key'));
    });
  });
}
