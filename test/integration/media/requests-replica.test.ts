import { expect } from 'chai';
import { storageToken, workspacePrefix } from '../../../api/identity.ts';
import { publishReplicas } from '../../../redis/publication/publication.ts';
import { MASTER_KEY } from '../../support/front-process.ts';
import { makePicture, probeFilm } from '../../support/media-files.ts';
import { type Engine, type ModelReplica, startEngine, startReplica } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';

import { FILM, type FrontWorkspace, REPLICAS, startFrontWorkspace } from './front-workspace.ts';

describe('requests at a front whose replicas come and go', () => {
  let space: FrontWorkspace;
  const started: (Engine | ModelReplica)[] = [];

  before(async () => {
    space = await startFrontWorkspace();
  });
  after(async () => {
    await Promise.all(started.map((each) => each.stop('SIGKILL')));
    await space?.stop();
  });

  async function startPod(
    name: string,
    spec: Record<string, unknown>,
    address: string,
  ): Promise<ModelReplica> {
    const config = await space.publish(name, spec);
    const engine = await startEngine({
      SIMULATOR_KIND: config.kind,
      SIMULATOR_MODEL: config.modelId,
      SIMULATOR_JOB_SECONDS: '0.3',
    });
    started.push(engine);
    const replica = await startReplica({
      redisURL: space.redis.url,
      engineURL: engine.url,
      config,
      address,
      port: space.replicaPort,
      storage: {
        url: space.front.internalOrigin,
        token: storageToken(MASTER_KEY, 'team'),
        requestPrefix: workspacePrefix(MASTER_KEY, 'team'),
      },
    });
    started.push(replica);
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'a ready replica');
    await publishReplicas(space.connection.redis, 'team', name, [address]);
    return replica;
  }

  it('wait for the first replica, and are shown by it, by the front and by other endpoints', async () => {
    await space.publish('film', FILM);
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', seconds: '1', size: '64x64' }))
      form.set(name, value);
    form.set('input_reference', new Blob([new Uint8Array(await makePicture(64, 64))]), 'a.png');
    const { status, body, text } = await space.call('film', '/videos', { body: form });
    expect(status, text).to.equal(202);
    const path = `/videos/${body.id}`;
    expect((await space.call('film', path)).body.status).to.equal('queued');

    const replica = await startPod('film', FILM, REPLICAS[0]);
    await pollUntil(async () => (await space.call('film', path)).body.status === 'completed', 'done');
    await pollUntil(async () => (await space.call('film', '/models')).status === 200, 'the front hands on');
    await expectFilm(path, 'film');

    await startPod('chat', { model: { id: 'chat', source: { none: {} } } }, REPLICAS[1]);
    await pollUntil(async () => (await space.call('chat', '/models')).status === 200, 'the front hands on');
    await expectFilm(path, 'chat');
    expect((await space.call('chat', '/requests')).body).to.deep.equal({ object: 'list', data: [] });
    const detail = await space.call('chat', `/requests/${body.id}`);
    expect(detail.body).to.include({ status: 'succeeded' });
    expect(detail.body.output_urls).to.have.length(1);

    await replica.stop('SIGKILL');
    await expectFilm(path, 'film');
  });

  async function expectFilm(path: string, host: string): Promise<void> {
    const content = await space.call(host, `${path}/content`);
    expect(content.status, content.text).to.equal(302);
    const link = content.headers.get('location')!;
    expect(new URL(link).origin).to.equal(space.store.origin);
    const film = await probeFilm(await (await fetch(link)).arrayBuffer());
    expect(film).to.deep.equal({ codec: 'h264', size: '64x64', frames: 25, fps: 24 });
  }
});
