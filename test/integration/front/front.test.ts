import { expect } from 'chai';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { hashApiKey } from '../../../api/identity.ts';
import {
  publishApiKeys,
  publishDeployment,
  publishHost,
  publishReplicas,
  removeDeployment,
  removeHost,
} from '../../../redis/publication/publication.ts';
import { type ChatOptions, callChat, readError, streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { sendRaw } from '../../support/raw-client.ts';
import { publishModel } from '../../support/replica-stack.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESSES = ['127.0.0.6', '127.0.0.7'];
const NOBODY = '127.0.0.8';
const HOST = 'chat--team.models.example.com';

describe('the front', () => {
  let stack: TestStack;
  let front: FrontProcess;
  let engines: Engine[];
  let replicas: ModelReplica[];
  let port: number;
  const config = describeModel();
  const { namespace, name } = config;

  before(async () => {
    stack = await TestStack.start({ isStrict: true });
    const key = { n: 'test', rpm: 2, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishModel(stack.redis, config);
    await publishApiKeys(stack.redis, 'other', new Map([[hashApiKey('sk-other'), key]]));
    engines = await Promise.all(ADDRESSES.map(() => startEngine()));
    port = await findFreePort([...ADDRESSES, NOBODY]);
    replicas = await Promise.all(ADDRESSES.map((address, index) => start(address, engines[index]!)));
    front = await startFrontProcess({ redisURL: stack.server.url, replicaPort: port });
    await pollUntil(async () => (await front.admin('/readyz')).ok, 'the front to be ready');
    for (const replica of replicas) await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  });
  after(async () => {
    await Promise.all([...(replicas ?? []), ...(engines ?? [])].map((part) => part.stop('SIGKILL')));
    await front?.stop('SIGKILL');
    await stack?.stop();
  });
  beforeEach(async () => {
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 0, itlMs: 0, tokens: 20 })));
    await publish(config, ADDRESSES);
    await publishHost(stack.redis, HOST, { namespace, name });
  });

  const start = (address: string, engine: Engine) =>
    startReplica({ redisURL: stack.server.url, engineURL: engine.url, config, address, port });
  const publish = async (published: GatewayConfig, addresses: string[]) => {
    await publishDeployment(stack.redis, published);
    await publishReplicas(stack.redis, published.namespace, published.name, addresses);
  };
  const url = () => `${front.origin}/v1`;
  const call = (options: ChatOptions = {}) => callChat(url(), { host: HOST, ...options });
  const stream = (options: ChatOptions = {}) => streamChat(url(), { host: HOST, ...options });
  /** What the front answers once it has heard of what was published. */
  const awaitError = async (code: string, options: ChatOptions = {}) => {
    let answer: Awaited<ReturnType<typeof readError>> | undefined;
    await pollUntil(async () => {
      const response = await call(options);
      if (response.ok) await response.text();
      else answer = await readError(response);
      return answer?.code === code;
    }, code);
    return answer!;
  };

  it('answers 404 not_found at an address that is no deployment’s', async () => {
    for (const host of ['nobody.models.example.com', '127.0.0.1', 'localhost:1']) {
      const answer = await readError(await call({ host }));
      expect(answer).to.include({ status: 404, code: 'not_found' });
      expect(answer.message).to.match(/no deployment at this address/);
    }
  });

  it('answers the OpenAPI document of a deployment without replicas, and of one that is paused', async () => {
    const read = (key: string) =>
      fetchByHost(`${front.origin}/openapi.json`, HOST, { headers: { authorization: `Bearer ${key}` } });
    for (const paused of [true, false]) {
      await publish({ ...config, paused }, []);
      await awaitError('no_pod_available');
      const response = await read(API_KEY);
      expect(response.status).to.equal(200);
      expect(((await response.json()) as { paths: object }).paths).to.include.keys('/v1/chat/completions');
    }
    expect((await read('sk-unknown')).status).to.equal(401);
  });

  it('is healthy without a key while a request would be served', async () => {
    const read = async () => {
      const response = await fetchByHost(`${front.origin}/health`, HOST);
      expect(await response.text()).to.equal('');
      return response.status;
    };
    const scaling = { coldStart: 'Hold' as const, holdForMs: 1_000, loadTimeMs: null };
    const cases: [string, GatewayConfig, string[], number][] = [
      ['with a replica', config, ADDRESSES, 200],
      ['paused', { ...config, paused: true }, ADDRESSES, 503],
      ['without a replica', config, [], 503],
      ['at rest', { ...config, scaling }, [], 200],
      ['at rest, and not running', { ...config, scaling, obstacle: 'Failed' }, [], 503],
      ['with a replica again', config, ADDRESSES, 200],
    ];
    for (const [what, published, addresses, status] of cases) {
      await publish(published, addresses);
      await pollUntil(async () => (await read()) === status, `${status} ${what}`);
    }
  });

  it('hands requests on to ready replicas, whatever the case, port and dot of the host', async () => {
    for (const host of [HOST, HOST.toUpperCase(), `${HOST}:8443`, `${HOST}.`]) {
      const response = await call({ host });
      expect(response.status).to.equal(200);
      expect(((await response.json()) as { model: string }).model).to.equal('berth/chat');
    }
  });

  it('answers at the name of the Service, and closes the connection while no replica is ready', async () => {
    const host = `${name}.${namespace}.svc`;
    expect((await call({ host })).status).to.equal(200);
    await publish(config, []);
    await awaitError('no_pod_available', { host });
    expect((await call({ host })).headers.get('connection')).to.equal('close');
  });

  it('lets a client read a replica’s early answer to a body that is still on its way, be the connection kept or not', async () => {
    await (await call()).text();
    const piece = 'x'.repeat(64 * 1024);
    const pieces = Array.from({ length: 400 }, () => piece);
    for (const connection of ['close', 'keep-alive', 'close', 'close']) {
      const head =
        `POST /v1/chat/completions HTTP/1.1\r\nhost: ${HOST}\r\nauthorization: Bearer wrong\r\n` +
        `connection: ${connection}\r\ncontent-type: application/json\r\n`;
      const length = `content-length: ${pieces.length * piece.length}\r\n\r\n`;
      const answer = await sendRaw(Number(new URL(front.origin).port), head + length, ...pieces);
      expect([answer.status, answer.code]).to.deep.equal([401, 'invalid_api_key']);
    }
  });

  it('keeps the request id and takes all replicas in turn', async () => {
    const before = await Promise.all(engines.map((engine) => engine.read()));
    for (let index = 0; index < 6; index++) {
      const response = await call({ headers: { 'x-request-id': `id-${index}` } });
      expect(response.headers.get('x-request-id')).to.equal(`id-${index}`);
      await response.text();
    }
    const after = await Promise.all(engines.map((engine) => engine.read()));
    expect(after.map(({ requests }, index) => requests - before[index]!.requests)).to.deep.equal([3, 3]);
  });

  it('passes a stream on token by token, and frees the engine when the client leaves', async () => {
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 20, itlMs: 30, tokens: 100 })));
    const leaving = new AbortController();
    const streamed = await stream({ signal: leaving.signal });
    await pollUntil(() => streamed.frames() > 3, 'frames');
    expect(streamed.frames()).to.be.lessThan(60);
    leaving.abort();
    await pollUntil(async () => {
      const states = await Promise.all(engines.map((engine) => engine.read()));
      return states.every(({ inflight }) => inflight === 0);
    }, 'free engines');
  });

  it('skips a replica that does not accept connections', async () => {
    await publish(config, [NOBODY, ...ADDRESSES]);
    for (let index = 0; index < 6; index++) expect((await call()).status).to.equal(200);
    await publish(config, [NOBODY]);
    const answer = await awaitError('no_pod_available');
    expect(answer).to.include({ status: 503, retryAfter: '5' });
  });

  const unavailable: [string, Partial<GatewayConfig>, RegExp, string | null][] = [
    ['starting', {}, /starting/, '5'],
    ['paused', { paused: true }, /paused/, null],
    ['scaled to zero', { replicas: 0 }, /scaled to zero/, null],
    ['invalid', { obstacle: 'Invalid' }, /chat is not running/, null],
    ['crashing', { obstacle: 'Failed' }, /chat is not running/, null],
    ['being deleted', { deleting: true }, /being deleted/, null],
  ];
  for (const [state, changes, message, retryAfter] of unavailable)
    it(`answers 503 no_pod_available while a deployment is ${state}, to its own keys only`, async () => {
      await publish({ ...config, ...changes }, changes.paused || changes.deleting ? ADDRESSES : []);
      const answer = await awaitError('no_pod_available');
      expect(answer).to.include({ status: 503, retryAfter });
      expect(answer.message).to.match(message);
      for (const key of ['sk-other', 'sk-unknown'])
        expect(await readError(await call({ key }))).to.include({ status: 401, code: 'invalid_api_key' });
    });

  it('counts nothing that it refuses', async () => {
    const other = { ...describeModel({}, { namespace: 'other', name: 'idle' }) };
    await publish(other, []);
    await publishHost(stack.redis, 'idle.example.com', { namespace: 'other', name: 'idle' });
    for (let index = 0; index < 5; index++) {
      const answer = await awaitError('no_pod_available', { host: 'idle.example.com', key: 'sk-other' });
      expect(answer.status).to.equal(503);
    }
  });

  it('reports unknown paths and wrong methods of a deployment that has no replica', async () => {
    await publish(config, []);
    await awaitError('no_pod_available');
    const path = await readError(await fetchByHost(`${front.origin}/v1/nothing`, HOST));
    expect(path).to.include({ status: 404, code: 'not_found' });
    const method = await fetchByHost(`${url()}/chat/completions`, HOST);
    expect(method.headers.get('allow')).to.equal('POST');
    expect(await readError(method)).to.include({ status: 405, code: 'method_not_allowed' });
    const headers = { authorization: `Bearer ${API_KEY}` };
    const kind = await readError(await fetchByHost(`${url()}/embeddings`, HOST, { method: 'POST', headers }));
    expect(kind).to.include({ status: 400, code: 'wrong_modality' });
  });

  it('says in Anthropic’s dialect that no replica is ready, to who sends its key as x-api-key', async () => {
    await publish(config, []);
    await awaitError('no_pod_available');
    const send = (key: string) =>
      fetchByHost(`${url()}/messages?beta=true`, HOST, { method: 'POST', headers: { 'x-api-key': key } });
    const response = await send(API_KEY);
    expect(response.status).to.equal(503);
    expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0);
    const body = (await response.json()) as { error: { type: string }; request_id: string };
    expect(body.error.type).to.equal('overloaded_error');
    expect(body.request_id).to.equal(response.headers.get('request-id'));
    await publish({ ...config, obstacle: 'Failed' }, []);
    let final = await send(API_KEY);
    await pollUntil(async () => {
      final = await send(API_KEY);
      return final.headers.get('x-should-retry') === 'false';
    }, 'the failure');
    expect(final.headers.get('retry-after')).to.equal(null);
    expect(((await final.json()) as typeof body).error.type, 'its clients give up at once').to.equal(
      'api_error',
    );
    expect((await send('sk-unknown')).status).to.equal(401);
    expect((await fetchByHost(front.origin, HOST, { method: 'HEAD' })).status).to.equal(200);
  });

  it('knows within a moment when a deployment comes, moves and goes', async () => {
    await removeHost(stack.redis, HOST, { namespace, name });
    await awaitError('not_found');
    await publishHost(stack.redis, HOST, { namespace, name });
    await pollUntil(async () => (await call()).status === 200, 'the host');
    await removeDeployment(stack.redis, namespace, name);
    await awaitError('not_found');
  });

  it('answers for 200 deployments without a replica at once', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `model-${index}`);
    for (const each of names) {
      await publishDeployment(stack.redis, { ...config, name: each });
      await publishHost(stack.redis, `${each}.example.com`, { namespace, name: each });
    }
    const answers = await Promise.all(
      names.map((each) => call({ host: `${each}.example.com` }).then(readError)),
    );
    expect(new Set(answers.map(({ code }) => code))).to.deep.equal(new Set(['no_pod_available']));
    expect(answers[7]!.message).to.match(/deployment model-7 /);
  });

  it('reports to the client that the replica was lost during its stream, and continues with the other', async () => {
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 20, itlMs: 30, tokens: 200 })));
    await publish(config, [ADDRESSES[1]!]);
    await pollUntil(async () => (await engines[0]!.read()).inflight === 0, 'an idle engine');
    const streamed = await stream();
    await pollUntil(() => streamed.frames() > 2, 'frames');
    await publish(config, ADDRESSES);
    const index = (await engines[1]!.read()).inflight === 1 ? 1 : 0;
    await replicas[index]!.stop('SIGKILL');
    const { error, isWhole, text } = await streamed.ended;
    expect(error).to.equal(undefined);
    expect(isWhole).to.equal(false);
    expect(text).to.match(/\n\ndata: \{"error":\{[^\n]*"code":"upstream_error"[^\n]*\}\n\n$/);
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 0, itlMs: 0, tokens: 5 })));
    for (let turn = 0; turn < 4; turn++) expect((await call()).status).to.equal(200);
    replicas[index] = await start(ADDRESSES[index]!, engines[index]!);
    await pollUntil(async () => (await replicas[index]!.admin('/readyz')).ok, 'ready');
  });

  it('goes on with the deployments that it knows while Redis is away, and with all when it is back', async () => {
    expect((await call()).status).to.equal(200);
    await stack.server.kill();
    await pollUntil(async () => (await call()).status === 200, 'served from memory');
    const stranger = await readError(await call({ host: 'never-seen.example.com' }));
    expect(stranger).to.include({ status: 503, code: 'temporarily_unavailable', retryAfter: '2' });
    expect((await front.admin('/readyz')).status).to.equal(200);
    await stack.server.restart();
    await stack.connection.untilUp(60_000);
    await pollUntil(
      async () => (await call({ host: 'never-seen.example.com' })).status === 404,
      'Redis again',
    );
  });

  it('is ready only once it has seen Redis', async () => {
    const lonely = await startFrontProcess({
      redisURL: `127.0.0.1:${await findFreePort()}`,
      replicaPort: port,
    });
    expect((await lonely.admin('/readyz')).status).to.equal(503);
    await lonely.stop();
    expect(lonely.program.ended).to.equal(0);
  });

  it('on SIGTERM lets streams end and exits 0', async () => {
    const leaving = await startFrontProcess({ redisURL: stack.server.url, replicaPort: port });
    await pollUntil(async () => (await leaving.admin('/readyz')).ok, 'ready');
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 20, itlMs: 30, tokens: 50 })));
    const streamed = await streamChat(`${leaving.origin}/v1`, { host: HOST });
    await pollUntil(() => streamed.frames() > 0, 'a frame');
    const stopped = leaving.stop('SIGTERM');
    expect((await streamed.ended).isWhole).to.equal(true);
    await stopped;
    expect(leaving.program.ended).to.equal(0);
  });
});
