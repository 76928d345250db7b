import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { ADMIN_PATHS, GATEWAY_NODE_FLAGS } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { EDIT_FORM } from '../../../gateway/media/image-request.ts';
import { publishApiKeys, publishDeployment, publishHost } from '../../../redis/publication/publication.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
const BODY_BYTES = 31 * MIB;
/** Both run in containers of 1 GiB. */
const MAX_RESIDENT_MIB = 900;
/** Far above what is measured, and half of what one such body took without a limit. */
const MAX_PAUSE_MS = 5_000;
const OTHER_KEY = 'sk-other';
const ADDRESS = '127.0.0.19';
const HOST = 'picture--team.models.example.com';

const FRONT = readChartLimits('front');
/** As the operator gives it for the chart's limit of 1 GiB. */
const SIDECAR_OPTIONS = [...GATEWAY_NODE_FLAGS, '--max-old-space-size=768'].join(' ');

const fill = (head: string, unit: string, tail: string): Buffer =>
  Buffer.from(head + unit.repeat((BODY_BYTES - head.length) / unit.length) + tail);

const ATTACKS: Record<string, () => Buffer> = {
  'millions of empty objects': () => fill('{"prompt":"x","x":[', '{},', '{}]}'),
  'millions of empty arrays': () => fill('{"prompt":"x","x":[', '[],', '[]]}'),
  'an array in an array in an array': () => fill('{"prompt":"x","x":', '[', ''),
  'millions of indexed members': () => fill('{"prompt":"x","x":[', '{"99999":1},', '1]}'),
};

interface Sent {
  status: number;
  retryAfter: string | undefined;
  code: string | null;
}

/** The body's bytes are shared by all calls. */
const send = (url: string, body: Buffer, { key = API_KEY, host = '' } = {}): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
      ...(host && { host }),
    };
    const call = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        const code = response.statusCode! < 300 ? null : JSON.parse(text).error.code;
        resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'], code });
      });
    });
    call.on('error', reject);
    call.end(body);
  });

const LONG_TEXT = Buffer.alloc(990_000, 'x');

/** Sends all texts of an edit, as long as they may be, but no end. `answer` is null when they have all been sent. */
function openForm(url: string): { answer: Promise<Sent | null>; cut(): void } {
  const headers = {
    host: HOST,
    authorization: `Bearer ${API_KEY}`,
    'content-type': 'multipart/form-data; boundary=XX',
  };
  const call = request(url, { method: 'POST', headers, agent: false });
  const answer = new Promise<Sent | null>((resolve, reject) => {
    call.on('error', reject);
    call.on('response', async (response) => {
      const { error } = (await json(response)) as { error: { code: string } };
      const retryAfter = response.headers['retry-after'];
      resolve({ status: response.statusCode!, retryAfter, code: error.code });
    });
    const parts = [...EDIT_FORM.texts].flatMap((name) => [
      `--XX\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`,
      LONG_TEXT,
      '\r\n',
    ]);
    for (const part of parts) call.write(part);
    call.write('--XX', () => resolve(null));
  });
  return { answer, cut: () => call.destroy() };
}

const peakMebibytes = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** Ends the watch; returns the longest time that the process did not respond. */
function watchPauses(ask: () => Promise<Response>): () => Promise<number> {
  let longest = 0;
  let isOver = false;
  const watch = (async () => {
    while (!isOver) {
      const begun = performance.now();
      await (await ask()).arrayBuffer();
      longest = Math.max(longest, performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return async () => {
    isOver = true;
    await watch;
    return longest;
  };
}

describe('large bodies', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  let front: FrontProcess;
  const chat = describeModel();
  const limits = { promptCharacters: 1_000_000 };
  const picture = describeModel({ kind: 'Image', replicas: 0, limits }, { name: 'picture' });
  const { namespace } = chat;

  before(async () => {
    stack = await TestStack.start();
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    const keys = [API_KEY, OTHER_KEY].map((text) => [hashApiKey(text), { ...key, n: text }] as const);
    await publishApiKeys(stack.redis, namespace, new Map(keys));
    await publishDeployment(stack.redis, chat);
    await publishDeployment(stack.redis, picture);
    await publishHost(stack.redis, HOST, { namespace, name: picture.name });
    engine = await startEngine();
  });
  after(async () => {
    await engine?.stop('SIGKILL');
    await stack?.stop();
  });
  beforeEach(async () => {
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config: chat,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
      env: { NODE_OPTIONS: SIDECAR_OPTIONS },
    });
    front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort: 1,
      env: { NODE_OPTIONS: FRONT.nodeOptions },
    });
    for (const each of [replica, front])
      await pollUntil(async () => (await each.admin(ADMIN_PATHS.readyz)).ok, 'ready');
  });
  afterEach(async () => {
    await Promise.all([replica?.stop('SIGKILL'), front?.stop('SIGKILL')]);
  });

  for (const [what, make] of Object.entries(ATTACKS))
    it(`refuses ${what} before they are parsed, and nobody else notices`, async () => {
      await engine.control({ ttftMs: 20, itlMs: 40, tokens: 60 });
      const body = make();
      const endWatches = [replica, front].map(({ admin }) => watchPauses(() => admin(ADMIN_PATHS.healthz)));
      const stream = await streamChat(replica.url, { key: OTHER_KEY });
      const imagesURL = `${front.origin}/v1/images/generations?async=true`;
      const answers = await Promise.all([
        ...[1, 2].map(() => send(`${replica.url}/completions`, body)),
        ...[1, 2].map(() => send(imagesURL, body, { host: HOST })),
      ]);
      for (const { status, code } of answers)
        expect([status, code]).to.be.deep.oneOf([
          [413, 'request_too_large'],
          [400, 'invalid_json'],
        ]);
      const { isWhole } = await stream.ended;
      expect(isWhole).to.equal(true);
      for (const end of endWatches) expect(await end()).to.be.below(MAX_PAUSE_MS);
      for (const { program } of [replica, front])
        expect(peakMebibytes(program.process.pid!)).to.be.below(MAX_RESIDENT_MIB);
    });

  it('serves as many large prompts at once as memory allows, and has the others try again', async () => {
    await engine.control({ ttftMs: 1_500, itlMs: 0, tokens: 3 });
    const image = `data:image/png;base64,${'QUJD'.repeat((16 * MIB) / 4)}`;
    const content = [{ type: 'image_url', image_url: { url: image } }];
    const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
    const large = Array.from({ length: 40 }, () => send(`${replica.url}/chat/completions`, body));
    const small = Buffer.from('{"messages":[{"role":"user","content":"Hello"}]}');
    const other = await send(`${replica.url}/chat/completions`, small, { key: OTHER_KEY });
    const otherLarge = send(`${replica.url}/chat/completions`, body, { key: OTHER_KEY });
    const answers = await Promise.all(large);
    expect(other.status).to.equal(200);
    expect((await otherLarge).status).to.equal(200);
    const served = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(served).to.have.length.above(3);
    for (const each of refused)
      expect(each).to.deep.equal({ status: 503, code: 'temporarily_unavailable', retryAfter: '5' });
    expect(peakMebibytes(replica.program.process.pid!)).to.be.below(MAX_RESIDENT_MIB);
  });

  it('holds the texts of as many unfinished forms as memory allows, and has the others try again', async () => {
    const forms = [];
    let refused: Sent | null = null;
    while (refused === null && forms.length < 100) {
      const form = openForm(`${front.origin}/v1/images/edits?async=true`);
      forms.push(form);
      refused = await form.answer;
    }
    expect(forms).to.have.length.above(3);
    expect(refused).to.deep.equal({ status: 503, code: 'temporarily_unavailable', retryAfter: '5' });
    expect(peakMebibytes(front.program.process.pid!)).to.be.below(MAX_RESIDENT_MIB);
    for (const { cut } of forms) cut();
    const small = Buffer.from(JSON.stringify({ model: picture.modelId, prompt: 'A ship' }));
    const url = `${front.origin}/v1/images/generations?async=true`;
    expect((await send(url, small, { host: HOST })).status).to.equal(202);
  });

  it('takes what real prompts hold: long images, many tools, a token array of the largest size', async () => {
    await engine.control({ ttftMs: 0, itlMs: 0, tokens: 3, contextTokens: 10_000_000 });
    const call = (path: string, value: object) =>
      send(`${replica.url}${path}`, Buffer.from(JSON.stringify(value)));
    const parameters = { type: 'object', properties: { city: { type: 'string', description: 'where' } } };
    const tools = Array.from({ length: 1_000 }, (_, index) => ({
      type: 'function',
      function: { name: `tool-${index}`, description: 'x'.repeat(200), parameters },
    }));
    const messages = [{ role: 'user', content: 'Hello' }];
    const logit_bias = Object.fromEntries(Array.from({ length: 150_000 }, (_, token) => [token, 1]));
    const prompt = Array.from({ length: 5_000_000 }, (_, index) => 10_000 + (index % 90_000));
    expect((await call('/chat/completions', { messages, tools })).code).to.equal(null);
    expect((await call('/chat/completions', { messages, logit_bias })).code).to.equal(null);
    expect((await call('/completions', { prompt })).code).to.equal(null);
    const image = `data:image/png;base64,${'QUJD'.repeat((30 * MIB) / 4)}`;
    const content = [{ type: 'image_url', image_url: { url: image } }];
    expect((await call('/chat/completions', { messages: [{ role: 'user', content }] })).code).to.equal(null);
  });
});
