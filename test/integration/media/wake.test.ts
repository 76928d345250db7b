import { expect } from 'chai';
import { readDemand } from '../../../redis/demand/demand.ts';
import { listenForWakes } from '../../support/cold-deployment.ts';
import { pollUntil } from '../../support/poll.ts';
import { FILM, type FrontWorkspace, PICTURE, startFrontWorkspace } from './front-workspace.ts';

const FILM_ORDER = { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1 };
const PICTURE_ORDER = { model: 'picture', prompt: 'a cat', size: '64x64' };
const scaling = { min: 0, max: 2, coldStart: { mode: 'Hold' } };

describe('a media deployment that scales to zero', () => {
  let space: FrontWorkspace;
  let wakes: Awaited<ReturnType<typeof listenForWakes>>;
  before(async () => {
    space = await startFrontWorkspace();
    await space.publish('film', { ...FILM, scaling });
    await space.publish('picture', { ...PICTURE, scaling });
    wakes = await listenForWakes(space.redis.url);
  });
  after(async () => {
    await wakes?.close();
    await space?.stop();
  });
  beforeEach(() => void wakes.woken.splice(0));
  const readJobs = async (name: string) =>
    (await readDemand(space.connection.redis, [`team/${name}`])).get(`team/${name}`)!;

  it('is woken by what is queued, which is its demand', async () => {
    const { status, text } = await space.call('film', '/videos/generations', { body: FILM_ORDER });
    expect(status, text).to.equal(202);
    await pollUntil(() => wakes.woken.includes('team/film'), 'woken');
    expect((await readJobs('film')).jobs).to.include({ queued: 1, running: 0 });
    const list = await space.call('film', '/requests');
    expect(list.status).to.equal(200);
  });

  it('is woken by an image whose client waits, which is refused with a time to come again', async () => {
    const answer = await space.call('picture', '/images/generations', { body: PICTURE_ORDER });
    expect(answer.status).to.equal(503);
    expect(answer.text).to.include('async=true');
    expect(answer.headers.get('retry-after')).to.equal('30');
    await pollUntil(() => wakes.woken.includes('team/picture'), 'woken');
    await pollUntil(async () => (await readJobs('picture')).fronts[0]?.refused === 1, 'counted');
  });

  it('is woken by no request that is refused for another reason', async () => {
    // What the last test wants it wants for a minute: this is another deployment.
    await space.publish('picture-2', { ...PICTURE, scaling });
    const wrong = await space.call('picture-2', '/images/generations', {
      body: { ...PICTURE_ORDER, size: '1x1' },
    });
    expect(wrong.status).to.equal(422);
    const unknown = await space.call('picture-2', '/images/generations', {
      body: PICTURE_ORDER,
      key: 'sk-x',
    });
    expect(unknown.status).to.equal(401);
    await space.grant('team', 0);
    await space.call('picture-2', '/images/generations', { body: PICTURE_ORDER });
    await space.grant('team', null);
    expect(wakes.woken).not.to.include('team/picture-2');
    await space.call('picture-2', '/images/generations', { body: PICTURE_ORDER });
    await pollUntil(() => wakes.woken.includes('team/picture-2'), 'woken by a good one');
  });
});
