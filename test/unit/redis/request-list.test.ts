import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { listRequests, readRequest } from '../../../redis/requests/request-record.ts';

const MIB = 1024 * 1024;
const MAX_RESULT = 65_500;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** A Redis with values that a workspace's user may have written. */
function fill(values: { deployment?: string; model?: string; status?: string; result: string }): RedisClient {
  const { deployment = 'film', model = '', status = 'succeeded', result } = values;
  // A new string for each value, as from a connection.
  const copy = (text: string) => Buffer.from(text).toString();
  const show = () =>
    [status, deployment, '1', 'image', model, '', '', '0', '1', '', '', '', result].map(copy);
  const ids = Array.from({ length: 200 }, (_, index) => `req_${String(index).padStart(32, '0')}`);
  const fcall = async (name: string, keys: number, ...words: (string | number)[]) => {
    const args = words.slice(keys);
    return name === FUNCTIONS.list ? ids.slice(0, args[0] as number) : args.slice(1).map(show);
  };
  return { fcall } as unknown as RedisClient;
}

const repeat = (unit: string) => `[${Array(Math.floor(MAX_RESULT / (unit.length + 1))).fill(unit)}]`;
const query = { namespace: 'team', deployment: 'film', limit: 200 };
const output = { bucket: 'b', keys: ['1.png', '2.png'], credential: null, provider: null, retentionMs: null };

describe('a list of requests that a tenant wrote', () => {
  for (const [what, values] of Object.entries({
    'results of empty objects': { result: repeat('{}') },
    'results of empty lists': { result: repeat('[]') },
    'results of numbers': { result: repeat('1') },
    'long keys of files': { result: JSON.stringify({ ...output, keys: ['x'.repeat(60_000)] }) },
    'many keys of files': { result: JSON.stringify({ ...output, keys: Array(500).fill('x'.repeat(100)) }) },
    'long messages': { status: 'failed', result: 'x'.repeat(MAX_RESULT) },
    'long names of models': { model: 'x'.repeat(60_000), result: '' },
  }))
    it(`takes less than 8 MiB of memory: ${what}`, async () => {
      const redis = fill(values);
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      const lists = await Promise.all([1, 2].map(() => listRequests(redis, query)));
      collectGarbage();
      expect((process.memoryUsage().heapUsed - before) / MIB).to.be.below(8);
      expect(lists).to.have.length(2);
    }).timeout(20_000);

  it('leaves out what is another deployment’s', async () => {
    expect(await listRequests(fill({ deployment: 'other', result: '' }), query)).to.deep.equal([]);
  });

  for (const [what, result] of Object.entries({
    'no JSON': '{"bucket',
    'no object': 'null',
    'a list': '[]',
    'no keys': JSON.stringify({ ...output, keys: 'a' }),
    'keys that are no texts': JSON.stringify({ ...output, keys: [1] }),
    'no bucket': JSON.stringify({ ...output, bucket: undefined }),
  }))
    it(`has no files where a result is ${what}`, async () => {
      const [record] = await listRequests(fill({ result }), query);
      expect(record).to.include({ status: 'succeeded', output: null });
    });

  it('names the first file of each, and the request itself all of them', async () => {
    const redis = fill({ result: JSON.stringify(output) });
    const [listed] = await listRequests(redis, query);
    expect(listed!.output!.keys).to.deep.equal(['1.png']);
    expect((await readRequest(redis, 'team', listed!.id))!.output).to.deep.equal(output);
  });
});
