import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { peerToken, storageToken, workspacePrefix } from '../../../api/identity.ts';
import { publishCredentials, publishReplicas } from '../../../redis/publication/publication.ts';
import { FILM, KEYS, PICTURE, REPLICAS } from '../../integration/media/front-workspace.ts';
import { MASTER_KEY } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { type Engine, type ModelReplica, startEngine, startReplica } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { type BucketWorkspace, EGRESS, publishCustomer, startBucketWorkspace } from './bucket-workspace.ts';

const ORDER = { model: 'picture', prompt: 'a cat', size: '64x64' };
const DAY_S = 86_400;
/** The store is on loopback, so that links lead to the endpoint by default. */
const storage = {};
const CUSTOMER = { id: 7, name: 'theirs', bucket: 'customer', prefix: 'our results/' };

describe('results in managed storage that is not public', () => {
  let space: BucketWorkspace;
  let engine: Engine;
  let replica: ModelReplica;
  before(async () => {
    space = await startBucketWorkspace();
    const baseURL = 'https://picture.example/v1';
    const config = await space.publish('picture', { ...PICTURE, storage }, { baseURL });
    await space.publish('film', { ...FILM, storage });
    await space.publish('other-film', { ...FILM, storage });
    space.s3.createBucket(CUSTOMER.bucket);
    await publishCustomer(space, CUSTOMER);
    engine = await startEngine({
      SIMULATOR_KIND: 'Image',
      SIMULATOR_MODEL: 'picture',
      SIMULATOR_JOB_SECONDS: '0',
    });
    replica = await startReplica({
      redisURL: space.redis.url,
      engineURL: engine.url,
      config,
      address: REPLICAS[0],
      port: space.replicaPort,
      peerToken: peerToken(MASTER_KEY, 'team', 'picture'),
      storage: {
        url: space.front.internalOrigin,
        token: storageToken(MASTER_KEY, 'team'),
        requestPrefix: workspacePrefix(MASTER_KEY, 'team'),
      },
      env: { ...EGRESS, [GATEWAY_ENV.logLevel]: 'debug' },
    });
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  });
  after(async () => {
    await Promise.all([replica, engine].map((part) => part?.stop('SIGKILL')));
    await space?.stop();
  });

  const order = async (body: object = {}, query = '', host = 'picture.example') => {
    const response = await fetchByHost(`${replica.url}/images/generations${query}`, host, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS.team}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...ORDER, ...body }),
    });
    const text = await response.text();
    expect(response.status, text).to.be.oneOf([200, 202]);
    return JSON.parse(text);
  };
  const makeImage = async (body: object = {}, host?: string): Promise<URL> =>
    new URL((await order(body, '', host)).data[0].url);
  const follow = (
    { host, pathname, search }: URL,
    {
      origin = replica.origin,
      asked = host,
      ...init
    }: Parameters<typeof fetchByHost>[2] & {
      origin?: string;
      asked?: string;
    } = {},
  ) => fetchByHost(`${origin}${pathname}${search}`, asked, init);
  const makeFilm = async (): Promise<URL> => {
    const body = { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1 };
    const made = await space.call('film', '/videos/generations', { body });
    await space.succeed(await space.claim('film'), Buffer.from('a film'));
    const content = await space.call('film', `/videos/${made.body.id}/content`);
    expect(content.status, content.text).to.equal(302);
    return new URL(content.headers.get('location')!);
  };
  const readStatus = async (response: Promise<Response>) => {
    const { status } = await response;
    await (await response).arrayBuffer();
    return status;
  };

  it('are linked at the origin that the client has for the endpoint', async () => {
    expect((await makeImage()).origin).to.equal('https://picture.example');
    const link = await makeImage({}, 'picture.team.svc.cluster.local:8080');
    expect(link.origin).to.equal('http://picture.team.svc.cluster.local:8080');
    expect(link.pathname).to.match(
      /^\/v1\/results\/-\/results\/team\/req_[0-9a-f]{32}\/[0-9a-f]{32}\/0\.png$/,
    );
  });

  it('are served by replicas and fronts alike, in parts, by their head and by their tag', async () => {
    const link = await makeImage();
    const bytes = Buffer.from(await (await follow(link)).arrayBuffer());
    expect(bytes.subarray(1, 4).toString()).to.equal('PNG');
    for (const origin of [replica.origin, space.front.origin]) {
      const whole = await follow(link, { origin });
      expect([whole.status, whole.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
      expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).to.equal(true);
      const etag = whole.headers.get('etag')!;
      const part = await follow(link, { origin, headers: { range: 'bytes=1-3' } });
      expect([part.status, await part.text()]).to.deep.equal([206, 'PNG']);
      expect(part.headers.get('content-range')).to.equal(`bytes 1-3/${bytes.length}`);
      const head = await follow(link, { origin, method: 'HEAD' });
      expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, String(bytes.length)]);
      expect(await readStatus(follow(link, { origin, headers: { 'if-none-match': etag } }))).to.equal(304);
      const beyond = { range: `bytes=${bytes.length}-` };
      expect(await readStatus(follow(link, { origin, headers: beyond }))).to.equal(416);
    }
  });

  it('need no key and ignore one, and no link works at another deployment or when it is changed', async () => {
    const link = await makeImage();
    const origin = space.front.origin;
    for (const authorization of [`Bearer ${KEYS.team}`, 'Bearer wrong', 'Basic eDp5'])
      expect(await readStatus(follow(link, { origin, headers: { authorization } }))).to.equal(200);
    for (const asked of ['film.example', 'other-film.example'])
      expect(await readStatus(follow(link, { origin, asked }))).to.equal(403);
    const changed = new URL(link);
    changed.pathname = changed.pathname.replace('/0.png', '/1.png');
    const response = await follow(changed, { origin });
    expect(response.headers.get('content-type')).to.match(/^application\/json/);
    expect(((await response.json()) as { error: { code: string } }).error.code).to.equal('permission_denied');
  });

  it('are there while the deployment is paused, at zero, waits for a replica, or has one that is lost', async () => {
    const link = await makeFilm();
    const origin = space.front.origin;
    const scaling = { min: 0, max: 1, coldStart: { mode: 'Hold' } };
    const publish = (state: object) => space.publish('film', { ...FILM, storage, ...state });
    for (const state of [{ paused: true }, { replicas: 0 }, { scaling }]) {
      await publish(state);
      expect(await readStatus(follow(link, { origin })), JSON.stringify(state)).to.equal(200);
    }
    await publish({});
    await publishReplicas(space.connection.redis, 'team', 'film', [REPLICAS[1]]);
    expect(await readStatus(follow(link, { origin }))).to.equal(200);
    await publishReplicas(space.connection.redis, 'team', 'film', []);
  });

  it('in a customer’s bucket are linked here only where the deployment says so, for seven days', async () => {
    const order = { storage_credential_id: CUSTOMER.id };
    expect((await makeImage(order)).origin).to.equal(space.s3.endpoint);
    await space.publish('picture', { ...PICTURE, storage: { links: 'Own' } });
    let link = await makeImage(order);
    await pollUntil(async () => {
      link = await makeImage(order);
      return link.origin !== space.s3.endpoint;
    }, 'the replica to know');
    const leftSeconds = Number(link.searchParams.get('expires')) - Date.now() / 1_000;
    expect(leftSeconds).to.be.within(7 * DAY_S - 60, 7 * DAY_S);
    expect(link.pathname).to.match(/^\/v1\/results\/theirs\/our%20results\/results\/team\//);
    for (const origin of [replica.origin, space.front.origin])
      expect(await readStatus(follow(link, { origin }))).to.equal(200);
    await publishCredentials(space.connection.redis, 'team', []);
    const gone = await follow(link, { origin: space.front.origin });
    expect([gone.status, ((await gone.json()) as { error: { code: string } }).error.code]).to.deep.equal([
      404,
      'result_expired',
    ]);
    await publishCustomer(space, CUSTOMER);
  });

  it('are linked so in requests and in the content of videos', async () => {
    const { id } = await order({}, '?async=true');
    const read = () => space.call('picture', `/requests/${id}`);
    await pollUntil(async () => (await read()).body.status === 'succeeded', 'it to succeed');
    const [url] = (await read()).body.output_urls as string[];
    expect(url).to.match(/^http:\/\/picture\.example\/v1\/results\/-\//);
    expect(await readStatus(follow(new URL(url!), { origin: space.front.origin }))).to.equal(200);
    const film = await makeFilm();
    expect(film.origin).to.equal('http://film.example');
    expect(await (await follow(film, { origin: space.front.origin })).text()).to.equal('a film');
  });

  it('are linked at the store where the deployment says so', async () => {
    await space.publish('film', { ...FILM, storage: { links: 'Store' } });
    const location = await makeFilm();
    expect(location.origin).to.equal(space.s3.endpoint);
    expect(await (await fetch(location)).text()).to.equal('a film');
  });

  it('that are gone, or whose store is, say so in the envelope', async () => {
    const link = await makeImage();
    rmSync(join(space.store.folder, decodeURIComponent(link.pathname.slice('/v1/results/-/'.length))));
    for (const origin of [replica.origin, space.front.origin]) {
      const response = await follow(link, { origin });
      const { error } = (await response.json()) as { error: { code: string } };
      expect([response.status, error.code]).to.deep.equal([404, 'result_expired']);
    }
    await space.s3.kill();
    for (const origin of [replica.origin, space.front.origin])
      expect(await readStatus(follow(link, { origin }))).to.equal(503);
  });

  it('leave no signature in the logs', () => {
    const output = replica.program.output + space.front.program.output;
    expect(output).to.include('"route":"result"');
    expect(output).not.to.match(/signature|results\/team/);
  });
});
