import { expect } from 'chai';
import { probeFilm } from '../support/media-files.ts';
import {
  findEndpoint,
  isPodReady,
  kubectl,
  listModelPods,
  listPods,
  waitForModel,
  waitUntil,
} from './installation.ts';
import { readRequest, send, steer, submitVideo, waitForStatus, waitForSuccess } from './media.ts';

const FRONT = 'app.kubernetes.io/name=berth,app.kubernetes.io/component=front';

describe('a request in the background', function () {
  this.timeout(600_000);
  const endpoint = findEndpoint('free-video');
  afterEach(async () => {
    await waitForModel(endpoint.name);
    await steer(endpoint, null);
  });

  it('is taken while the deployment is scaled to zero, and completes when it is scaled up', async () => {
    await kubectl('scale', 'modeldeployment', endpoint.name, '--replicas=0');
    await waitUntil('no pod', 120, async () => (await listModelPods(endpoint.name)).length === 0);
    const id = await submitVideo(endpoint);
    expect((await readRequest(endpoint, id)).status).to.equal('queued');
    expect((await send(endpoint, `/videos/${id}`)).body.status).to.equal('queued');
    expect((await send(endpoint, '/models')).status).to.equal(503);
    await kubectl('scale', 'modeldeployment', endpoint.name, '--replicas=1');
    await waitForSuccess(endpoint, id, 180);
  });

  it('is made by another pod when its own is killed', async () => {
    await steer(endpoint, { jobSeconds: 60 });
    const id = await submitVideo(endpoint);
    await waitForStatus(endpoint, id, 'running');
    const [pod] = await listModelPods(endpoint.name);
    await kubectl('delete', 'pod', pod!.metadata.name, '--grace-period=0', '--force');
    const { output_urls } = await waitForSuccess(endpoint, id, 180);
    const film = await probeFilm(await (await fetch(output_urls![0]!)).arrayBuffer());
    expect(film.frames).to.equal(9);
  });

  it('outlives fronts that are killed while it runs', async () => {
    // For some seconds more they stand in for a pod that has just become ready.
    await waitUntil('the fronts to step back', 120, async () => {
      const slice = `${endpoint.name}-front`;
      const ready = '{.endpoints[*].conditions.ready}';
      // They always stand by, and are ready only where they serve.
      return !(await kubectl('get', 'endpointslice', slice, '-o', `jsonpath=${ready}`)).includes('true');
    });
    await steer(endpoint, { jobSeconds: 5 });
    const id = await submitVideo(endpoint);
    await waitForStatus(endpoint, id, 'running');
    await kubectl('delete', 'pod', '-n', 'berth', '-l', FRONT, '--grace-period=0', '--force');
    await waitForSuccess(endpoint, id, 120);
    await waitUntil('both fronts', 120, async () => {
      const pods = await listPods(FRONT, 'berth');
      return pods.length === 2 && pods.every(isPodReady);
    });
    const content = await send(endpoint, `/videos/${id}/content`);
    expect(content.status).to.equal(302);
    expect((await fetch(content.headers.get('location')!)).status).to.equal(200);
  });
});
