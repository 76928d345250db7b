import { expect } from 'chai';
import { generateBatchId, generateFileId } from '../../../api/batch.ts';
import { type Budget, encodeBudget } from '../../../api/budget.ts';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { readPage } from '../../../gateway/batches/batch-list.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { readBudget } from '../../../redis/admission/budgets.ts';
import { addFile, deleteFile, readFiles } from '../../../redis/batches/batch-files.ts';
import {
  type ChunkOutcome,
  cancelBatch,
  claimChunk,
  createBatch,
  finishChunk,
  readBatches,
  renewChunk,
} from '../../../redis/batches/batch-records.ts';
import { takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { takeDueObjects } from '../../../redis/requests/object-cleanup.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { publishApiKey } from '../../support/publication.ts';
import { newToken, PREFIX } from '../../support/request-fixture.ts';

const SHA256 = 'a'.repeat(64);
const HOUR_MS = 3_600_000;

describe('the chunks of a batch', () => {
  const space = useMediaWorkspace();

  const keepFile = async (chunks: number): Promise<string> => {
    const { redis, namespace, deployment } = space;
    const id = generateFileId(PREFIX);
    const places = Array.from({ length: chunks }, (_, index) => ({
      ...{ start: 100 * index, end: 100 * (index + 1), line: 1 + 2 * index, lines: 2 },
    }));
    const file = {
      ...{ namespace, deployment, id, name: 'a.jsonl', bytes: 100 * chunks, lines: 2 * chunks },
      ...{ endpoint: '/v1/chat/completions', errors: [], keepMs: HOUR_MS, chunks: places },
      object: { credential: null, key: `inputs/${namespace}/${id}/lines.jsonl` },
    };
    expect(await addFile(redis, file)).to.equal('added');
    expect(await addFile(redis, file), 'again').to.equal('added');
    return id;
  };
  const create = async (file: string, more = {}): Promise<string> => {
    const { redis, namespace, deployment } = space;
    const id = generateBatchId(PREFIX);
    const batch = {
      ...{ namespace, deployment, id, file, errors: [], window: '24h', windowMs: HOUR_MS, keepMs: HOUR_MS },
      ...{
        outputFile: generateFileId(PREFIX),
        errorFile: generateFileId(PREFIX),
        metadata: '',
        keyName: 'key',
      },
      ...{ endpoint: '/v1/chat/completions', sha256: SHA256 },
      ...more,
    };
    expect(await createBatch(redis, batch)).to.include({ verdict: 'created' });
    return id;
  };
  const claim = (leaseMs = 60_000) => {
    const { redis, namespace, deployment } = space;
    return claimChunk(redis, { namespace, deployment, token: newToken(), leaseMs });
  };
  const outcome = (token: string): ChunkOutcome => ({
    output: { object: { credential: null, key: `results/${space.namespace}/x/${token}/0.jsonl` }, bytes: 10 },
    errors: null,
    ...{
      completed: 2,
      failed: 0,
      micros: 7,
      inputTokens: 3,
      cachedTokens: 0,
      outputTokens: 4,
      totalTokens: 7,
    },
  });
  const read = async (id: string) => (await readBatches(space.redis, space.namespace, [id]))[0]!;
  const credit = async () => Number((await space.redis.get(workKeys(space.namespace).credit)) ?? 0);

  it('are claimed once each, and the last one ends the batch with one event', async () => {
    const file = await keepFile(2);
    const id = await create(file);
    const claims = [await claim(), await claim(), await claim()];
    expect(claims[2]).to.equal(null);
    expect(claims.map((each) => each?.place.start)).to.eql([0, 100, undefined]);
    expect(await deleteFile(space.redis, space.namespace, file)).to.equal('in_use');
    for (const each of claims.slice(0, 2))
      expect(await finishChunk(space.redis, each!.claim, outcome(each!.claim.token))).to.equal('done');
    const batch = await read(id);
    expect(batch).to.include({ status: 'completed', completed: 4, failed: 0, errorFile: null });
    expect(batch.usage.totalTokens).to.equal(14);
    const [output] = await readFiles(space.redis, space.namespace, [batch.outputFile!]);
    expect(output).to.include({ kind: 'output', bytes: 20, batch: id });
    const events = await takeEvents(space.redis, space.namespace, { limit: 10, leaseMs: 1_000 });
    expect(events.filter(({ requestId }) => requestId === id).map(({ type }) => type)).to.eql([
      'batch.completed',
    ]);
  });

  it('of a lost worker are done by another, and counted and charged once', async () => {
    const before = await credit();
    const id = await create(await keepFile(1));
    const lost = (await claim(1))!;
    let again = await claim();
    while (!again) again = await claim();
    expect(again.claim.chunk).to.equal(lost.claim.chunk);
    expect(await renewChunk(space.redis, lost.claim)).to.equal('stale');
    expect(await finishChunk(space.redis, lost.claim, outcome(lost.claim.token))).to.equal('stale');
    for (let time = 0; time < 2; time++)
      expect(await finishChunk(space.redis, again.claim, outcome(again.claim.token))).to.equal('done');
    expect(await finishChunk(space.redis, lost.claim, outcome(lost.claim.token))).to.equal('stale');
    expect(await read(id)).to.include({ status: 'completed', completed: 2 });
    expect((await credit()) - before).to.equal(7);
  });

  describe('of a key with budgets', () => {
    const own: Budget = { micros: 10, period: 'Month', warnAt: [] };
    const owners: Budget = { micros: 100, period: 'Day', warnAt: [] };
    const publish = async () => {
      const { redis, namespace } = space;
      const limits = { rpm: 60_000, tpd: 1e9, exp: 0, off: 0 as const };
      const budgets = { own: 'team', bud: encodeBudget(own) };
      await redis.hset(configKeys(namespace).workspace, 'owner:team', encodeBudget(owners));
      await publishApiKey(redis, namespace, SHA256, { n: 'key', ...limits, ...budgets });
    };
    const spent = async () => {
      const { redis, namespace } = space;
      const read = async (kind: 'key' | 'owner', name: string, budget: Budget) =>
        (await readBudget(redis, namespace, { holder: { kind, name }, budget, at: Date.now() })).spentMicros;
      return [await read('key', 'key', own), await read('owner', 'team', owners)];
    };
    const finish = async () => {
      const { claim: held } = (await claim())!;
      for (let time = 0; time < 2; time++) await finishChunk(space.redis, held, outcome(held.token));
    };
    const ask = () =>
      admit(space.redis, { namespace: space.namespace, sha256: SHA256, counted: 'all' }).then(
        ({ verdict }) => verdict,
      );

    it('count in its own and its owner’s, once, until the next line is refused', async () => {
      await publish();
      await create(await keepFile(2));
      await finish();
      expect(await spent()).to.eql([7, 7]);
      expect(await ask()).to.equal('ok');
      await finish();
      expect(await spent()).to.eql([14, 14]);
      expect(await ask()).to.equal('credit');
    });

    it('count also if the key is deleted while they run', async () => {
      await publish();
      const id = await create(await keepFile(1));
      const { claim: held } = (await claim())!;
      await space.redis.hdel(configKeys(space.namespace).apiKeys, SHA256);
      await finishChunk(space.redis, held, outcome(held.token));
      expect(await spent()).to.eql([7, 7]);
      expect(await read(id)).to.include({ status: 'completed' });
    });

    it('end whatever a tenant has written as budgets', async () => {
      const id = await create(await keepFile(1));
      await space.redis.hset(workKeys(space.namespace).batch(id), 'budgets', 'all mine');
      await finish();
      expect(await read(id)).to.include({ status: 'completed' });
    });
  });

  it('are no longer run after a cancel, nor after the window, which fronts see as well', async () => {
    const { redis, namespace } = space;
    const cancelled = await create(await keepFile(2));
    const running = (await claim())!;
    expect(running.mode).to.equal('run');
    expect(await cancelBatch(redis, namespace, cancelled)).to.equal('cancelling');
    expect(await renewChunk(redis, running.claim)).to.equal('cancelled');
    const expired = await create(await keepFile(1), { windowMs: 0 });
    const rest = [];
    for (let left = 2; left > 0; left--)
      rest.push((await claimChunk(redis, { namespace, deployment: null, token: newToken() }))!);
    expect(rest.map(({ claim: { id }, mode }) => `${id} ${mode}`).sort()).to.eql(
      [`${cancelled} cancelled`, `${expired} expired`].sort(),
    );
    for (const each of [running, ...rest])
      expect(await finishChunk(redis, each.claim, outcome(each.claim.token))).to.equal('done');
    expect((await read(cancelled)).status).to.equal('cancelled');
    expect((await read(expired)).status).to.equal('expired');
    expect(await cancelBatch(redis, namespace, cancelled)).to.equal('ended');
  });

  it('are listed to the end while a client deletes what it is shown', async () => {
    const { redis, namespace, deployment } = space;
    const kept = [await keepFile(1), await keepFile(1), await keepFile(1)];
    const index = workKeys(namespace).files(deployment);
    const read = (ids: readonly string[]) => readFiles(redis, namespace, ids);
    const seen: string[] = [];
    for (let after = '', isMore = true; isMore; ) {
      const query = { limit: 1, order: 'desc', after } as const;
      const page = await readPage({ redis, index, read }, query, ({ id }) => id);
      expect(page.data).to.have.length(1);
      seen.push(...page.data);
      after = page.last_id!;
      isMore = page.has_more;
      await deleteFile(redis, namespace, after);
    }
    expect(seen).to.include.members(kept);
  });

  it('leave no object behind a file that is deleted', async () => {
    const { redis, namespace } = space;
    const file = await keepFile(1);
    const id = await create(file);
    const { claim: held } = (await claim())!;
    await finishChunk(redis, held, outcome(held.token));
    const { outputFile } = await read(id);
    for (const each of [file, outputFile!])
      expect(await deleteFile(redis, namespace, each)).to.equal('deleted');
    const due = await takeDueObjects(redis, namespace, { limit: 100, leaseMs: 1_000 });
    expect(due.map(({ key }) => key)).to.include.members([
      `inputs/${namespace}/${file}/lines.jsonl`,
      `results/${namespace}/x/${held.token}/0.jsonl`,
    ]);
    expect(await readFiles(redis, namespace, [file, outputFile!])).to.eql([null, null]);
  });
});
