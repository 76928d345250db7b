/** The playground: an endpoint is called with a key of minutes; streams pass both ways. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { configKeys } from '../../../contract/redis-keys.ts';
import { admit } from '../../../redis/calls.ts';
import { until } from '../../support/redis-client.ts';
import { type Person, useConsole } from './console-harness.ts';

describe("the console's playground", function () {
  this.timeout(30_000);
  const console = useConsole();
  let endpoint: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let seen: IncomingMessage[];
  let namespace: string;
  let token: string;
  let someone: Person;
  let base: string;

  before(async () => {
    endpoint = createServer((request, response) => {
      seen.push(request);
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
  });
  after(() => endpoint.close());
  beforeEach(async () => {
    ({ namespace, token } = await console.makeMember());
    someone = await console.signIn(token);
    base = `/api/namespaces/${namespace}`;
    seen = [];
    answer = (_, response) => response.end('{}');
    const { port } = endpoint.address() as AddressInfo;
    await makeDeployment('llm', `http://127.0.0.1:${port}`);
  });

  const makeDeployment = async (name: string, url: string) => {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/modeldeployments`;
    const spec = { kind: 'Image', model: { id: 'm' }, engine: { preset: 'simulator' } };
    const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', metadata: { name }, spec };
    expect((await console.kube('POST', path, object)).status).to.equal(201);
    expect((await console.kube('PATCH', `${path}/${name}/status`, { status: { url } })).status).to.equal(200);
  };
  const headersOf = (person: Person) => ({
    cookie: person.cookie,
    origin: console.origin,
    'x-berth-console': '1',
    'content-type': 'application/json',
  });

  it('calls the endpoint with a key of minutes that gateways know, and tells it nothing of the session', async () => {
    answer = (_, response) =>
      response.setHeader('set-cookie', 'a=b').setHeader('x-request-id', 'r1').end('{"ok":1}');
    const first = await someone.call('POST', `${base}/deployments/llm/v1/chat/completions`, { messages: [] });
    await someone.call('GET', `${base}/deployments/llm/v1/models`);
    expect([first.status, first.headers.get('set-cookie'), first.headers.get('x-request-id')]).to.deep.equal([
      200,
      null,
      'r1',
    ]);
    const [call, again] = seen;
    expect([call!.method, call!.url, again!.url]).to.deep.equal([
      'POST',
      '/v1/chat/completions',
      '/v1/models',
    ]);
    for (const name of ['cookie', 'origin', 'x-berth-console', 'x-forwarded-for'])
      expect(call!.headers[name], name).to.equal(undefined);
    const key = call!.headers.authorization!.replace('Bearer ', '');
    expect(again!.headers.authorization).to.equal(`Bearer ${key}`);
    const sha256 = createHash('sha256').update(key).digest('hex');
    const admission = await admit(console.redis.redis, { namespace, sha256, counted: true });
    expect(admission.verdict).to.equal('ok');
    expect(admission.keyName).to.match(/^console:system:serviceaccount:/);
    const ttl = await console.redis.redis.pttl(configKeys(namespace).sessionKey(sha256));
    expect(ttl).to.be.within(280_000, 300_000);
    const elsewhere = await admit(console.redis.redis, { namespace: 'other', sha256, counted: false });
    expect(elsewhere.verdict).to.equal('unknown_key');
  });

  it('passes a stream on as it comes', async () => {
    let say: (text: string | null) => void = () => {};
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      say = (text) => (text === null ? response.end() : response.write(text));
      say('data: 1\n\n');
    };
    const response = await fetch(`${console.origin}${base}/deployments/llm/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(someone),
      body: '{"stream":true}',
    });
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).to.equal('data: 1\n\n');
    say('data: 2\n\n');
    expect((await reader.read()).value).to.equal('data: 2\n\n');
    say(null);
    expect((await reader.read()).done).to.equal(true);
  });

  it('ends the call when the page is left', async () => {
    let isGone = false;
    answer = (_, response) => {
      response.on('close', () => {
        isGone = true;
      });
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    };
    const controller = new AbortController();
    const response = await fetch(`${console.origin}${base}/deployments/llm/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(someone),
      body: '{}',
      signal: controller.signal,
    });
    await response.body!.getReader().read();
    expect(isGone).to.equal(false);
    controller.abort();
    await until(() => isGone, 'the end of the call');
  });

  it('passes files on, larger than any body of the API itself', async () => {
    const file = Buffer.alloc(3_000_000, 7);
    let size = 0;
    answer = async (request, response) => {
      for await (const chunk of request) size += chunk.length;
      response.end('{}');
    };
    const form = new FormData();
    form.set('image', new Blob([file]), 'a.png');
    const { 'content-type': _, ...headers } = headersOf(someone);
    const path = `${base}/deployments/llm/v1/images/edits?async=true`;
    const response = await fetch(`${console.origin}${path}`, { method: 'POST', headers, body: form });
    expect(response.status).to.equal(200);
    expect(size).to.be.greaterThan(file.length);
    expect(seen[0]!.url).to.equal('/v1/images/edits?async=true');
    expect(seen[0]!.headers['content-type']).to.match(/^multipart\/form-data; boundary=/);
  });

  it('answers with what the endpoint refuses, but for a key that it does not know', async () => {
    const refuse = (status: number) => (_: IncomingMessage, response: ServerResponse) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' })
        .end('{"error":{"code":"x"}}');
    answer = refuse(429);
    const full = await someone.call('POST', `${base}/deployments/llm/v1/chat/completions`, {});
    expect([full.status, full.headers.get('retry-after'), full.body.error.code]).to.deep.equal([
      429,
      '7',
      'x',
    ]);
    answer = refuse(401);
    const unknown = await someone.call('POST', `${base}/deployments/llm/v1/chat/completions`, {});
    expect([unknown.status, unknown.body.error.code]).to.deep.equal([502, 'upstream_error']);
    answer = refuse(200);
    await someone.call('POST', `${base}/deployments/llm/v1/chat/completions`, {});
    expect(seen[2]!.headers.authorization).to.not.equal(seen[1]!.headers.authorization);
  });

  for (const [method, path] of [
    ['GET', 'requests'],
    ['GET', 'requests/x'],
    ['GET', 'chat/completions'],
    ['POST', 'models'],
    ['POST', 'videos/generations/../../requests'],
    ['POST', '%2e%2e/admin'],
    ['DELETE', 'videos/video_1'],
  ])
    it(`has no ${method} ${path}`, async () => {
      const body = method === 'POST' ? {} : undefined;
      const target = `${base}/deployments/llm/v1/${path}`;
      const answer = await console.rawCall(method!, target, body, headersOf(someone));
      expect(answer.status).to.be.oneOf([404, 405]);
      expect(seen).to.deep.equal([]);
    });

  it('goes by way of the front where there is one, with the host of the deployment', async () => {
    await makeDeployment('hosted', 'https://hosted--team.models.example');
    const { port } = endpoint.address() as AddressInfo;
    const another = await console.start({ frontURL: `http://127.0.0.1:${port}` });
    const person = console.person(`http://127.0.0.1:${another.port}`);
    person.cookie = someone.cookie;
    expect((await person.call('GET', `${base}/deployments/hosted/v1/models`)).status).to.equal(200);
    expect([seen[0]!.headers.host, seen[0]!.url]).to.deep.equal([
      'hosted--team.models.example',
      '/v1/models',
    ]);
  });
});
