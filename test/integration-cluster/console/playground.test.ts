/** The playground: an endpoint is called with a key of minutes; streams pass both ways. */

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { configKeys } from '../../../api/redis-keys.ts';
import { admit } from '../../../redis/admission/admission-calls.ts';
import { pollUntil } from '../../support/poll.ts';

import { type Person, useConsole } from './console-harness.ts';
import { useEndpoint } from './endpoint-fixture.ts';

describe("the console's playground", () => {
  const console = useConsole();
  const fixture = useEndpoint(console);

  const headersOf = (person: Person) => ({
    cookie: person.cookie,
    origin: console.origin,
    'x-berth-console': '1',
    'content-type': 'application/json',
  });

  it('calls the endpoint with a short-lived key, and sends it nothing of the session', async () => {
    fixture.answer = (_, response) =>
      response.setHeader('set-cookie', 'a=b').setHeader('x-request-id', 'r1').end('{"ok":1}');
    const first = await fixture.someone.call('POST', `${fixture.base}/deployments/llm/v1/chat/completions`, {
      messages: [],
    });
    await fixture.someone.call('GET', `${fixture.base}/deployments/llm/v1/models`);
    expect([first.status, first.headers.get('set-cookie'), first.headers.get('x-request-id')]).to.deep.equal([
      200,
      null,
      'r1',
    ]);
    const [call, again] = fixture.seen;
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
    const admission = await admit(console.redis.redis, {
      namespace: fixture.namespace,
      sha256,
      counted: 'all',
    });
    expect(admission.verdict).to.equal('ok');
    expect(admission.keyName).to.match(/^console:system:serviceaccount:/);
    const ttl = await console.redis.redis.pttl(configKeys(fixture.namespace).sessionKey(sha256));
    expect(ttl).to.be.within(280_000, 300_000);
    const elsewhere = await admit(console.redis.redis, { namespace: 'other', sha256, counted: 'no' });
    expect(elsewhere.verdict).to.equal('unknown_key');
  });

  it('passes no page on, and nothing that a browser would run', async () => {
    for (const type of [
      'text/html',
      'image/svg+xml',
      'application/xhtml+xml',
      'text/html; x=application/json',
    ]) {
      fixture.answer = (_, response) =>
        response.setHeader('content-type', type).end('<form action="https://evil.example">');
      const answer = await fixture.someone.call('GET', `${fixture.base}/deployments/llm/v1/models`);
      expect(answer.status, type).to.equal(502);
      expect(answer.headers.get('content-type')).to.match(/^application\/json/);
    }
    fixture.answer = (_, response) => response.setHeader('content-type', 'Image/PNG').end('x');
    const answer = await fixture.someone.call('GET', `${fixture.base}/deployments/llm/v1/models`);
    expect(answer.headers.get('content-type')).to.equal('image/png');
    expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
    const policy = answer.headers.get('content-security-policy');
    expect(policy).to.contain('sandbox').and.contain("form-action 'none'");
  });

  it('passes a stream on as it comes', async () => {
    let say: (text: string | null) => void = () => {};
    fixture.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      say = (text) => (text === null ? response.end() : response.write(text));
      say('data: 1\n\n');
    };
    const response = await fetch(`${console.origin}${fixture.base}/deployments/llm/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fixture.someone),
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
    fixture.answer = (_, response) => {
      response.on('close', () => {
        isGone = true;
      });
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    };
    const controller = new AbortController();
    const response = await fetch(`${console.origin}${fixture.base}/deployments/llm/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fixture.someone),
      body: '{}',
      signal: controller.signal,
    });
    await response.body!.getReader().read();
    expect(isGone).to.equal(false);
    controller.abort();
    await pollUntil(() => isGone, 'the end of the call');
  });

  it('passes files on, larger than any body of the API itself', async () => {
    const file = Buffer.alloc(3_000_000, 7);
    let size = 0;
    fixture.answer = async (request, response) => {
      for await (const chunk of request) size += chunk.length;
      response.end('{}');
    };
    const form = new FormData();
    form.set('image', new Blob([file]), 'a.png');
    const { 'content-type': _, ...headers } = headersOf(fixture.someone);
    const path = `${fixture.base}/deployments/llm/v1/images/edits?async=true`;
    const response = await fetch(`${console.origin}${path}`, { method: 'POST', headers, body: form });
    expect(response.status).to.equal(200);
    expect(size).to.be.greaterThan(file.length);
    expect(fixture.seen[0]!.url).to.equal('/v1/images/edits?async=true');
    expect(fixture.seen[0]!.headers['content-type']).to.match(/^multipart\/form-data; boundary=/);
  });

  it('answers with what the endpoint refuses, but for a key that it does not know', async () => {
    const refuse = (status: number) => (_: IncomingMessage, response: ServerResponse) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' })
        .end('{"error":{"code":"x"}}');
    fixture.answer = refuse(429);
    const full = await fixture.someone.call(
      'POST',
      `${fixture.base}/deployments/llm/v1/chat/completions`,
      {},
    );
    expect([full.status, full.headers.get('retry-after'), full.body.error.code]).to.deep.equal([
      429,
      '7',
      'x',
    ]);
    fixture.answer = refuse(401);
    const unknown = await fixture.someone.call(
      'POST',
      `${fixture.base}/deployments/llm/v1/chat/completions`,
      {},
    );
    expect([unknown.status, unknown.body.error.code]).to.deep.equal([502, 'upstream_error']);
    fixture.answer = refuse(200);
    await fixture.someone.call('POST', `${fixture.base}/deployments/llm/v1/chat/completions`, {});
    expect(fixture.seen[2]!.headers.authorization).to.not.equal(fixture.seen[1]!.headers.authorization);
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
      const target = `${fixture.base}/deployments/llm/v1/${path}`;
      const answer = await console.rawCall(method!, target, body, headersOf(fixture.someone));
      expect(answer.status).to.be.oneOf([404, 405]);
      expect(fixture.seen).to.deep.equal([]);
    });

  it('goes by way of the front where there is one, with the host of the deployment', async () => {
    await fixture.makeDeployment('hosted', 'https://hosted--team.models.example');
    const { port } = fixture;
    const another = await console.start({ frontURL: `http://127.0.0.1:${port}` });
    const person = console.person(`http://127.0.0.1:${another.port}`);
    person.cookie = fixture.someone.cookie;
    expect((await person.call('GET', `${fixture.base}/deployments/hosted/v1/models`)).status).to.equal(200);
    expect([fixture.seen[0]!.headers.host, fixture.seen[0]!.url]).to.deep.equal([
      'hosted--team.models.example',
      '/v1/models',
    ]);
  });
});
