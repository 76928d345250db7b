import { expect } from 'chai';
import { type LoopbackServer, startHttpServer, startHttpsServer } from '../../support/loopback-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { makeCertificates } from '../../support/test-certificates.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startTextEndpoint, type TextEndpoint } from '../../support/text-endpoint.ts';
import { MODEL, RunningSimulator } from '../../unit/simulator/running-simulator.ts';
import { type DNSServer, startDNSServer } from './dns-server.ts';

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1_000, 7)]);
const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(500, 9)]);
const WAV = Buffer.concat([Buffer.from('RIFF\x10\0\0\0WAVEfmt '), Buffer.alloc(700, 3)]);
const MP4 = Buffer.concat([Buffer.from('\0\0\0\x20ftypisom'), Buffer.alloc(900, 4)]);
const DATA_URL = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
const JSON_BYTES = 40_000;

describe('an image of a chat', () => {
  let stack: TestStack;
  let simulator: RunningSimulator;
  let dns: DNSServer;
  let images: LoopbackServer;
  let inside: LoopbackServer;
  let endpoint: TextEndpoint;
  let key: string;
  let fetched: string[] = [];
  /** Fetches that broke off. */
  let brokenOff = 0;
  let insideBefore = 0;

  before(async () => {
    stack = await TestStack.start();
    simulator = await RunningSimulator.start();
    const certificates = makeCertificates('DNS:images.test');
    dns = await startDNSServer();
    dns.zone.set('images.test', () => ['127.0.0.1']);
    dns.zone.set('inside.test', () => ['127.0.0.2']);
    images = await startHttpsServer((req, res) => {
      fetched.push(req.url!);
      res.once('close', () => (brokenOff += res.writableFinished ? 0 : 1));
      const answers: Record<string, () => void> = {
        '/a.png': () => res.end(PNG),
        '/b.jpg': () => res.end(JPEG),
        '/page.png': () => res.setHeader('content-type', 'image/png').end('<!doctype html>'),
        '/away.png': () => res.writeHead(302, { location: `http://127.0.0.2:${inside.port}/` }).end(),
        '/inside.png': () => res.writeHead(307, { location: `https://inside.test:${inside.port}/` }).end(),
        '/metadata.png': () => res.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
        '/loop.png': () => res.writeHead(302, { location: '/loop.png' }).end(),
        '/nowhere.png': () => res.writeHead(302).end(),
        '/moved.png': () => res.writeHead(301, { location: '/again.png' }).end('moved'),
        '/again.png': () =>
          res.writeHead(303, { location: `https://images.test:${images.port}/a.png` }).end(),
        '/a.wav': () => res.end(WAV),
        '/a.mp4': () => res.end(MP4),
        '/large.png': () => res.end(Buffer.concat([PNG, Buffer.alloc(JSON_BYTES)])),
        '/half.png': () => res.end(Buffer.concat([PNG, Buffer.alloc(15_000)])),
        '/slow.png': () => res.write(PNG),
      };
      (answers[req.url!] ?? (() => res.writeHead(404).end('no such image')))();
    }, certificates);
    inside = await startHttpServer((_, res) => res.end(PNG), '127.0.0.2');
    endpoint = await startTextEndpoint({
      connection: stack.connection,
      engineURL: simulator.url,
      settings: { servedModelName: MODEL },
      limits: { jsonBodyBytes: JSON_BYTES },
      egress: {
        allow: ['127.0.0.1'],
        deny: [],
        plainHTTP: false,
        servers: [dns.address],
        ca: certificates.ca,
      },
    });
    key = await endpoint.makeKey();
  });
  after(async () => {
    await endpoint?.stop();
    await simulator?.stop();
    await Promise.all([dns?.stop(), images?.stop(), inside?.stop()]);
    await stack?.stop();
  });
  beforeEach(async () => {
    fetched = [];
    insideBefore = inside.connections;
    await simulator.reset();
  });

  const at = (path: string) => `https://images.test:${images.port}${path}`;
  const partOf = (url: string) => ({ type: 'image_url', image_url: { url } });
  const toDataURL = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
  const chatOf = (...urls: string[]) =>
    JSON.stringify({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...urls.map(partOf)] }],
      max_tokens: 1,
    });

  function post(body: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
      ...init,
    });
  }
  async function readEngine() {
    const { last, requests } = await simulator.readControl();
    return { requests, body: last?.body as { messages: { content: unknown[] }[] } };
  }

  it('is fetched by https and reaches the engine as a data: URL, beside one that came as such', async () => {
    const response = await post(chatOf(at('/a.png'), DATA_URL, at('/b.jpg')));
    expect(response.status).to.equal(200);
    const { body } = await readEngine();
    expect(body.messages[0]!.content.slice(1)).to.deep.equal([
      partOf(toDataURL('image/png', PNG)),
      partOf(DATA_URL),
      partOf(toDataURL('image/jpeg', JPEG)),
    ]);
    expect(fetched.sort()).to.deep.equal(['/a.png', '/b.jpg']);
  });

  it('is fetched for a response, and for a message as the source that Anthropic has', async () => {
    const call = (path: string, body: object) =>
      fetch(`${endpoint.origin}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const part = (url: string) => ({ type: 'input_image', image_url: url });
    const input = (url: string) => [{ role: 'user', content: [part(url)] }];
    expect((await call('/v1/responses', { input: input(at('/a.png')) })).status).to.equal(200);
    const responses = (await simulator.readControl()).last!.body as { input: unknown };
    expect(responses.input).to.deep.equal(input(toDataURL('image/png', PNG)));

    const messages = (source: object) => [{ role: 'user', content: [{ type: 'image', source }] }];
    const body = { max_tokens: 1, messages: messages({ type: 'url', url: at('/b.jpg') }) };
    expect((await call('/v1/messages', body)).status).to.equal(200);
    const sent = (await simulator.readControl()).last!.body as { messages: unknown };
    const data = JPEG.toString('base64');
    expect(sent.messages).to.deep.equal(messages({ type: 'base64', media_type: 'image/jpeg', data }));
    expect(fetched.sort()).to.deep.equal(['/a.png', '/b.jpg']);
  });

  it('is put in place of its URL alone: what surrounds it stays as it was sent', async () => {
    let sent = '';
    const engine = await startHttpServer(async (req, res) => {
      for await (const chunk of req) sent += chunk;
      res.end('{"choices":[]}');
    });
    const other = await startTextEndpoint({
      connection: stack.connection,
      engineURL: `http://127.0.0.1:${engine.port}`,
      settings: { servedModelName: MODEL },
      egress: { allow: ['127.0.0.0/8'], deny: [], plainHTTP: true, servers: [dns.address] },
    });
    const url = `http://127.0.0.2:${inside.port}/`;
    const write = (image: string) =>
      `{ "model":"${MODEL}", "seed": 12345678901234567890, "messages": [ {"role":"user", "content":[ {"image_url" : "${image}", "x":1.0 }]} ]}`;
    // The gateway writes the engine's name of the model into the body; nothing else but the image may change.
    await fetch(`${other.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await other.makeKey()}`, 'content-type': 'application/json' },
      body: write(url).replace(MODEL, other.config.modelId),
    });
    await other.stop();
    await engine.stop();
    expect(sent).to.equal(write(toDataURL('image/png', PNG)));
  });

  it('is fetched through redirects, each of which is judged', async () => {
    expect((await post(chatOf(at('/moved.png')))).status).to.equal(200);
    expect(fetched).to.deep.equal(['/moved.png', '/again.png', '/a.png']);
    const { body } = await readEngine();
    expect(body.messages[0]!.content[1]).to.deep.equal(partOf(toDataURL('image/png', PNG)));
  });

  it('may be a sound or a video as well, each as a data: URL of its type', async () => {
    const parts = (audio: string, video: string) => [
      { type: 'audio_url', audio_url: { url: audio } },
      { type: 'video_url', video_url: { url: video } },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
    ];
    const content = parts(at('/a.wav'), at('/a.mp4'));
    const response = await post(JSON.stringify({ messages: [{ role: 'user', content }], max_tokens: 1 }));
    expect(response.status, await response.text()).to.equal(200);
    const { body } = await readEngine();
    expect(body.messages[0]!.content).to.deep.equal(
      parts(toDataURL('audio/wav', WAV), toDataURL('video/mp4', MP4)),
    );
  });

  it('is refused where a sound is wanted, and the fifth sound as well', async () => {
    const sound = (url: string) => ({ type: 'audio_url', audio_url: { url } });
    const ask = async (...urls: string[]) => {
      const response = await post(JSON.stringify({ messages: [{ role: 'user', content: urls.map(sound) }] }));
      const { error } = (await response.json()) as { error: { param: string; message: string } };
      return [response.status, error.param, error.message];
    };
    const [status, param, message] = await ask(at('/a.png'));
    expect([status, param]).to.deep.equal([400, 'messages[0].content[0].audio_url.url']);
    expect(message)
      .to.match(/is not an audio file in a supported format/)
      .and.contain('data:audio/wav;base64');
    fetched = [];
    const [, fifth, why] = await ask(...Array.from({ length: 5 }, () => at('/a.wav')));
    expect([fifth, fetched]).to.deep.equal(['messages[0].content[4].audio_url.url', []]);
    expect(why).to.contain('the limit of 4');
  });

  it('streams as any chat', async () => {
    const response = await post(chatOf(at('/a.png')).replace('{', '{"stream":true,'));
    expect(await response.text()).to.match(/data: \[DONE\]\s*$/);
  });

  const failures: [string, (at: (path: string) => string) => string, RegExp][] = [
    ['an http: URL', (to) => to('/a.png').replace('https', 'http'), /must start with https:/],
    ['a file: URL', () => 'file:///etc/passwd', /must start with https:/],
    ['what is no URL', () => 'a.png', /is not a valid URL/],
    ['a URL with a password', (to) => to('/a.png').replace('images', 'a:b@images'), /user name/],
    ['a port of the system', () => 'https://images.test:22/', /port/],
    ['a metadata address', () => 'https://169.254.169.254/latest/', /does not resolve to a public address/],
    ['a private address in disguise', () => 'https://0x7f.2/', /does not resolve to a public address/],
    ['a name inside', () => `https://inside.test:${inside.port}/`, /does not resolve to a public address/],
    ['a name that does not exist', () => 'https://nowhere.test/', /does not resolve to a public address/],
    ['a redirect to a place inside', (to) => to('/away.png'), /must start with https:/],
    ['a redirect to a name inside', (to) => to('/inside.png'), /does not resolve to a public address/],
    ['a redirect to a metadata address', (to) => to('/metadata.png'), /does not resolve to a public address/],
    ['a redirect without end', (to) => to('/loop.png'), /redirects more than 5 times/],
    ['a redirect to nowhere', (to) => to('/nowhere.png'), /returned status 302/],
    ['a server that has no such image', (to) => to('/gone.png'), /returned status 404/],
    ['a page', (to) => to('/page.png'), /is not an image in a supported format/],
    ['an image that is too large', (to) => to('/large.png'), /larger than 50 MiB, or .* limit of 40000/],
    ['a server that is not there', () => 'https://127.0.0.1:1024/', /does not accept connections/],
  ];
  for (const [what, urlOf, message] of failures)
    it(`that is ${what} is refused with its place and the way out`, async () => {
      const response = await post(chatOf(DATA_URL, urlOf(at)));
      const { error } = (await response.json()) as {
        error: { code: string; param: string; message: string };
      };
      expect([response.status, error.code]).to.deep.equal([400, 'invalid_value']);
      expect(error.param).to.equal('messages[0].content[2].image_url.url');
      expect(error.message).to.match(message).and.contain('data: URL').and.contain(error.param);
      expect(error.message).not.to.match(/127\.0|secret|ECONN|UND_ERR/);
      expect((await readEngine()).requests).to.equal(0);
      expect(inside.connections, 'nothing inside is reached').to.equal(insideBefore);
    });
  it('is refused when all together are over the limit of the body, though each alone is not', async () => {
    expect((await post(chatOf(at('/half.png')))).status).to.equal(200);
    const response = await post(chatOf(at('/half.png'), at('/half.png')));
    expect(response.status).to.equal(400);
    expect(await response.text()).to.contain('exceed its limit of 40000 bytes');
  });

  it('is refused as the eleventh, before any is fetched', async () => {
    const response = await post(chatOf(...Array.from({ length: 11 }, () => at('/a.png'))));
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect([response.status, error.param]).to.deep.equal([400, 'messages[0].content[11].image_url.url']);
    expect(error.message).to.contain('the limit of 10');
    expect(fetched).to.deep.equal([]);
  });

  it('that takes longer than 5 s is refused', async () => {
    const start = performance.now();
    const response = await post(chatOf(at('/slow.png')));
    expect(response.status).to.equal(400);
    expect(await response.text()).to.contain('did not respond in time');
    expect(performance.now() - start).to.be.within(4_900, 15_000);
  });

  it('is not fetched any further when the client leaves', async () => {
    const before = brokenOff;
    const client = new AbortController();
    const gone = post(chatOf(at('/slow.png')), { signal: client.signal }).catch((error) => error.name);
    await pollUntil(() => fetched.length === 1, 'the image is being fetched');
    client.abort();
    expect(await gone).to.equal('AbortError');
    await pollUntil(() => brokenOff === before + 1, 'the fetch is broken off');
    expect([(await readEngine()).requests, endpoint.slots.inflight]).to.deep.equal([0, 0]);
  });
});
