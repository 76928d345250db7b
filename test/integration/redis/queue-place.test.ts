import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { readQueuePlace } from '../../../redis/requests/queue-place.ts';
import { finishRequest, releaseRequest } from '../../../redis/requests/request-calls.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { success } from '../../support/request-fixture.ts';

/** A claim for the highest priority. */
let claims = 0;
const next = (): string => `1claim-${++claims}`;

describe('the place of a request in its queue', () => {
  const space = useMediaWorkspace();
  const submit = (letter: string, priority = 0) =>
    space.submitted({ sha256: letter.repeat(64), ...(priority !== 0 && { priority }) });
  const positionOf = async (id: string) => (await readQueuePlace(space.redis, space.namespace, id))?.position;

  it('is by the turns of the API keys: whoever queued thousands by mistake delays others by one turn', async () => {
    const many = [await submit('a'), await submit('a'), await submit('a')];
    const other = [await submit('b'), await submit('b')];
    const all = [many[0], other[0], many[1], other[1], many[2]];
    for (const [index, id] of all.entries()) expect(await positionOf(id!)).to.equal(index + 1);
    expect(await readQueuePlace(space.redis, space.namespace, many[2]!)).to.deep.equal({
      position: 5,
      queued: 5,
      startsInMs: null,
    });
    for (const id of all) expect((await space.claim(next()))?.claim.id).to.equal(id);
  });

  it('is behind keys of a higher priority, and before those of a lower one', async () => {
    const low = await submit('a', -1);
    const usual = [await submit('b'), await submit('b')];
    const high = [await submit('c', 9), await submit('c', 9)];
    for (const [index, id] of [...high, ...usual, low].entries())
      expect(await positionOf(id), `${index}`).to.equal(index + 1);
  });

  it('counts those that lost their worker, which come first', async () => {
    const lost = await submit('a');
    const waiting = await submit('a');
    const job = (await space.claim(next()))!;
    expect(await positionOf(waiting)).to.equal(1);
    await releaseRequest(space.redis, job.claim);
    expect(await readQueuePlace(space.redis, space.namespace, waiting)).to.include({
      position: 2,
      queued: 2,
    });
    expect(await positionOf(lost)).to.equal(undefined);
  });

  it('tells when it starts, from how long jobs took and how many run', async () => {
    const ids = [await submit('a'), await submit('a'), await submit('a'), await submit('a')];
    await finishRequest(space.redis, (await space.claim(next()))!.claim, success());
    await space.redis.hset(workKeys(space.namespace).pace(space.deployment), 'average_ms', '6000');
    await space.claim(next());
    expect(await readQueuePlace(space.redis, space.namespace, ids[3]!)).to.deep.equal({
      position: 2,
      queued: 2,
      startsInMs: 12_000,
    });
  });

  it('is none of a request that is not queued, and not known where more keys wait than are read', async () => {
    const id = await submit('a');
    const turns = workKeys(space.namespace).turns(space.deployment);
    await space.redis.zadd(turns, ...Array.from({ length: 99 }, (_, index) => ['0', `key-${index}`]).flat());
    expect(await positionOf(id)).to.be.a('number');
    await space.redis.zadd(turns, 0, 'key-99');
    expect(await readQueuePlace(space.redis, space.namespace, id)).to.include({ position: null, queued: 1 });
    await space.cancel(id);
    expect(await readQueuePlace(space.redis, space.namespace, id)).to.equal(null);
  });
});
