import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { openSocket, type RawAnswer, sendRaw } from '../../support/raw-client.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';
import { MODEL, RunningSimulator } from '../../unit/simulator/running-simulator.ts';

const JSON_BYTES = 10_000;
const CHAT = '{"messages":[{"role":"user","content":"hi"}],"max_tokens":1}';

describe('bad input', () => {
  let stack: TestStack;
  let simulator: RunningSimulator;
  let endpoint: TextEndpoint;
  let key: string;

  before(async () => {
    stack = await TestStack.start();
    simulator = await RunningSimulator.start();
    endpoint = await startTextEndpoint({
      connection: stack.connection,
      engineURL: simulator.url,
      settings: { servedModelName: MODEL },
      limits: { jsonBodyBytes: JSON_BYTES, bodyTimeoutMs: 400, headersTimeoutMs: 500 },
    });
    key = await endpoint.makeKey();
  });
  after(async () => {
    await endpoint?.stop();
    await simulator?.stop();
    await stack?.stop();
  });
  afterEach('the endpoint goes on serving', async () => {
    const answer = await post(CHAT);
    expect([answer.status, answer.code]).to.deep.equal([200, null]);
  });

  const post = (body: string | Buffer, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
    request('POST', path, { body, headers });

  function request(
    method: string,
    path: string,
    { body = '' as string | Buffer, headers = {} as Record<string, string> } = {},
  ): Promise<RawAnswer> {
    const all: Record<string, string> = {
      host: 'x',
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return sendRaw(endpoint.port, `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, body);
  }

  const bodies: [string, string | Buffer, number, string][] = [
    ['an empty body', '', 400, 'invalid_json'],
    ['half a JSON', '{"messages":[', 400, 'invalid_json'],
    ['a text', 'hello', 400, 'invalid_json'],
    ['a list', '[1]', 400, 'invalid_json'],
    ['null', 'null', 400, 'invalid_json'],
    ['a number', '5', 400, 'invalid_json'],
    ['NaN', '{"temperature":NaN}', 400, 'invalid_json'],
    [
      'bytes that are not UTF-8',
      Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      400,
      'invalid_json',
    ],
    ['a deep nest', '['.repeat(5000), 400, 'invalid_json'],
    ['no messages', '{}', 400, 'missing_required_parameter'],
    ['wrong types', '{"messages":[{}],"temperature":{}}', 400, 'invalid_type'],
    ['another model', '{"model":"gpt-4","messages":[{"role":"user"}]}', 400, 'model_mismatch'],
  ];
  for (const [what, body, status, code] of bodies)
    it(`answers ${status} ${code} to ${what}`, async () => {
      const answer = await post(body);
      expect([answer.status, answer.code]).to.deep.equal([status, code]);
    });

  it('reports the position of a JSON syntax error', async () => {
    const { body } = await post('{"messages": [], }');
    expect(body).to.match(/position 17|property name/);
  });

  const headers: [string, Record<string, string>, number, string][] = [
    ['gzip', { 'content-encoding': 'gzip' }, 415, 'unsupported_encoding'],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    [
      'a multipart form',
      { 'content-type': 'multipart/form-data; boundary=x' },
      415,
      'unsupported_media_type',
    ],
    ['no authorization', { authorization: '' }, 401, 'invalid_api_key'],
    ['another scheme', { authorization: 'Basic eDp5' }, 401, 'invalid_api_key'],
    ['a bearer without a key', { authorization: 'Bearer ' }, 401, 'invalid_api_key'],
    ['an unknown key', { authorization: 'Bearer sk-unknown' }, 401, 'invalid_api_key'],
    ['a binary key', { authorization: 'Bearer \x80\xff' }, 401, 'invalid_api_key'],
    ['headers over 16 KiB', { 'x-long': 'a'.repeat(17_000) }, 431, 'headers_too_large'],
    ['a length that is no number', { 'content-length': 'many' }, 400, 'invalid_request_error'],
    ['a length and chunks', { 'transfer-encoding': 'chunked' }, 400, 'invalid_request_error'],
  ];
  for (const [what, more, status, code] of headers)
    it(`answers ${status} ${code} to ${what}`, async () => {
      const answer = await post(CHAT, more);
      expect([answer.status, answer.code]).to.deep.equal([status, code]);
      expect(answer.head).to.match(/^x-request-id: \S+/im);
      if (status === 401) expect(answer.head).to.match(/^www-authenticate: Bearer/im);
    });

  const good: [string, Record<string, string>][] = [
    ['a charset', { 'content-type': 'application/json; charset=utf-8' }],
    ['no content type', { 'content-type': '' }],
    ['identity', { 'content-encoding': 'identity' }],
    ['a scheme in lower case', { authorization: '' }],
  ];
  for (const [what, more] of good)
    it(`takes ${what}`, async () => {
      const sent = 'authorization' in more ? { authorization: `bearer ${key}` } : more;
      expect((await post(CHAT, sent)).status).to.equal(200);
    });

  const routes: [string, string, number, string][] = [
    ['GET', '/', 404, 'not_found'],
    ['GET', '/v1', 404, 'not_found'],
    ['GET', '/v1/', 404, 'not_found'],
    ['POST', '/v1/moderations', 404, 'not_found'],
    ['GET', '/v1/../../etc/passwd', 404, 'not_found'],
    ['GET', '/internal/reservations', 404, 'not_found'],
    ['GET', '/v1/models/other', 404, 'model_not_found'],
    ['GET', '/v1/models/%E0%A4%A', 404, 'model_not_found'],
    ['GET', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['DELETE', '/v1/models', 405, 'method_not_allowed'],
    ['OPTIONS', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['PATCH', '/v1/embeddings', 405, 'method_not_allowed'],
    ['POST', '/v1/embeddings', 400, 'wrong_modality'],
    ['POST', '/v1/images/generations', 400, 'wrong_modality'],
    ['POST', '/v1/images/edits', 400, 'wrong_modality'],
    ['POST', '/v1/videos', 400, 'wrong_modality'],
    ['POST', '/v1/videos/generations', 400, 'wrong_modality'],
    ['BREW', '/v1/models', 501, 'method_not_allowed'],
    ['GET', 'http://x/v1/nothing', 404, 'not_found'],
  ];
  for (const [method, path, status, code] of routes)
    it(`answers ${status} ${code} to ${method} ${path}`, async () => {
      const answer = await request(method, path, { body: method === 'GET' ? '' : CHAT });
      expect([answer.status, answer.code]).to.deep.equal([status, code]);
      if (status === 405) expect(answer.head).to.match(/^allow: (GET|POST)/im);
    });

  it('answers HEAD as GET, without a body', async () => {
    const look = (path: string) =>
      fetch(endpoint.origin + path, { method: 'HEAD', headers: { authorization: `Bearer ${key}` } });
    const models = await look('/v1/models');
    expect([models.status, await models.text()]).to.deep.equal([200, '']);
    expect(Number(models.headers.get('content-length'))).to.be.greaterThan(100);
    expect((await fetch(`${endpoint.origin}/v1/models`, { method: 'HEAD' })).status).to.equal(401);
    expect((await look('/v1/models/other')).status).to.equal(404);
    const chat = await look('/v1/chat/completions');
    expect([chat.status, chat.headers.get('allow')]).to.deep.equal([405, 'POST']);
  });

  it('takes a slash at the end and two in a row for the route', async () => {
    for (const path of ['/v1/chat/completions/', '/v1//chat/completions', '//v1/chat/completions'])
      expect((await request('POST', path, { body: CHAT })).status, path).to.equal(200);
    expect((await request('GET', '/v1/models/', { body: '' })).status).to.equal(200);
  });

  it('takes a byte order mark, which the engine is not sent', async () => {
    expect((await post(Buffer.from(`\ufeff${CHAT}`))).status).to.equal(200);
  });

  it('names no route of media where it serves text', async () => {
    for (const [path, status] of [
      ['/v1/images/generations', 400],
      ['/v1/nothing', 404],
    ] as const) {
      const answer = await request('POST', path, { body: CHAT });
      expect(answer.status).to.equal(status);
      expect(answer.body)
        .to.contain('/v1/chat/completions, ')
        .and.not.match(/serves.*(videos|requests|images)/);
    }
  });

  it('asks for a body by 100 Continue only once the key was checked', async () => {
    const head = (authorization: string) =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${authorization}\r\n` +
      `expect: 100-continue\r\ncontent-length: ${CHAT.length}\r\nconnection: close\r\n\r\n`;
    const refused = await sendRaw(endpoint.port, head('sk-unknown'));
    expect([refused.status, refused.code]).to.deep.equal([401, 'invalid_api_key']);
    const welcome = await sendRaw(endpoint.port, head(key) + CHAT);
    expect(welcome.head).to.match(/^HTTP\/1.1 100 Continue/);
  });

  it('answers CONNECT with 405', async () => {
    expect((await request('CONNECT', 'x:443')).code).to.equal('method_not_allowed');
  });

  const garbage: [string, string][] = [
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['a request without a version', 'GET\r\n\r\n'],
    ['a header without a colon', 'GET /v1/models HTTP/1.1\r\nhost: x\r\nbroken\r\n\r\n'],
    ['no Host', 'GET /v1/models HTTP/1.1\r\n\r\n'],
    [
      'bad chunks',
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    ],
  ];
  for (const [what, text] of garbage)
    it(`answers in the envelope to ${what}`, async () => {
      const answer = await sendRaw(endpoint.port, text);
      expect([400, 401]).to.include(answer.status);
      expect(answer.code).to.be.a('string');
    });

  it('answers the first of two requests when garbage follows it', async () => {
    const good = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`;
    const answer = await sendRaw(endpoint.port, `${good}\x00\x01garbage\r\n\r\n`);
    expect(answer.status).to.be.oneOf([200, 400]);
  });

  it('answers 413 with the limit to a body whose length is over it', async () => {
    const answer = await post(`{"messages":"${'x'.repeat(JSON_BYTES)}"}`);
    expect([answer.status, answer.code]).to.deep.equal([413, 'request_too_large']);
    expect(answer.body).to.contain(String(JSON_BYTES));
  });

  it('answers 413 to a chunked body that grows over the limit, and lets the client read it', async () => {
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
    const answer = await sendRaw(
      endpoint.port,
      `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 200 }, () => chunk),
    );
    expect([answer.status, answer.code]).to.deep.equal([413, 'request_too_large']);
  });

  it('lets a client read an early answer whose body is still on its way when the connection ends with it', async () => {
    const piece = 'x'.repeat(64 * 1024);
    const size = 400 * piece.length;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\nconnection: close\r\n`;
    const answer = await sendRaw(
      endpoint.port,
      `${head}content-type: application/json\r\ncontent-length: ${size}\r\n\r\n`,
      ...Array.from({ length: 400 }, () => piece),
    );
    expect([answer.status, answer.code]).to.deep.equal([401, 'invalid_api_key']);
  });

  it('answers 408 to a body that does not come, and closes', async () => {
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
    const answer = await sendRaw(
      endpoint.port,
      `${head}content-type: application/json\r\ncontent-length: 500\r\n\r\n{"a`,
    );
    expect([answer.status, answer.code]).to.deep.equal([408, 'request_timeout']);
    expect(answer.head).to.match(/^connection: close/im);
  });

  it('answers 408 to headers that do not come', async () => {
    const answer = await sendRaw(endpoint.port, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n');
    expect([answer.status, answer.code]).to.deep.equal([408, 'request_timeout']);
  });

  it('forgets a client that leaves in the middle of its body', async () => {
    const socket = await openSocket(endpoint.port);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 500\r\n\r\n{`,
    );
    await pollUntil(async () => /inflight 1/.test(await endpoint.metrics.render()), 'the request to begin');
    socket.destroy();
    await pollUntil(async () => /inflight 0/.test(await endpoint.metrics.render()), 'the request to end');
  });

  it('keeps a sane request id of the caller and makes one in the place of another', async () => {
    const sane = await request('GET', '/v1/models', { headers: { 'x-request-id': 'abc-1.2' } });
    expect(sane.head).to.match(/^x-request-id: abc-1\.2$/im);
    const other = await request('GET', '/v1/models', { headers: { 'x-request-id': 'a b<script>' } });
    expect(other.head).to.match(/^x-request-id: [0-9a-f-]{36}$/im);
  });
});
