import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CheckRun, createCheckKey, runCheck, writeSimulated } from '../../support/gpu-check-run.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';

/** The simulator stands for an engine: what is shown here is what the tool says of it, not how fast it is. */
describe('the check of a GPU', function () {
  this.timeout(180_000);
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  let stack: LocalStack;
  let key: string;

  before(async () => {
    const size = '64x64';
    for (const [name, kind, more] of [
      ['one', 'LLM', {}],
      ['image', 'Image', { image: { sizes: [size], tasks: ['txt2img'], parameters: ['seed'] } }],
      ['video', 'Video', { video: { resolutions: [size], tasks: ['t2v'] } }],
      ['vectors', 'Embedding', {}],
      ['order', 'Rerank', {}],
      ['ear', 'Transcription', {}],
      ['mouth', 'Speech', {}],
      ['plain', 'LLM', { engine: { routes: ['/v1/chat/completions'] } }],
      ['bare', 'LLM', { engine: { routes: ['/v1/completions'] } }],
    ] as const)
      writeSimulated(models, name, { kind, ...more });
    stack = await startLocalStack({ MODELS: models });
    key = await createCheckKey(stack, 1_000);
  });
  after(async () => {
    await stack?.stop();
    rmSync(models, { recursive: true, force: true });
  });

  const find = (name: string) => stack.endpoints.deployments.find((entry) => entry.name === name)!;
  const check = (name: string, apiKey = key): Promise<CheckRun> =>
    runCheck({ URL: find(name).baseURL, KEY: apiKey });
  const LEAVING = 'clients that leave free the engine';
  const REFUSED = /^failed .*429 .*rate_limit_exceeded.*; use a key with rpm ≥ 1000/;

  it('says by the first refusal that the limits of a key are too low, and takes no refused client for one that left', async () => {
    const { code, lines } = await check('one', await createCheckKey(stack, 10));
    expect(code).to.equal(1);
    for (const title of [LEAVING, 'speed']) expect(lines.get(title)).to.match(REFUSED);
  });

  it('says why the speed of many clients cannot be measured with a key of ordinary limits', async () => {
    const { lines } = await check('one', await createCheckKey(stack, 60));
    expect(lines.get('speed')).to.match(REFUSED);
  });

  it('runs all that needs no cluster with a key of high limits', async () => {
    const { lines } = await check('one');
    expect(lines.size).to.equal(14);
    expect([...lines.values()].join('\n')).not.to.include('rate_limit_exceeded');
    expect(lines.get('speed')).to.match(/^passed .*64 clients: \d+ tokens\/s, 64 whole/);
    expect(lines.get(LEAVING)).to.match(/\d+ ms before, \d+ ms after/);
    expect(lines.get('tools are called without being asked for by name')).to.match(/^passed /);
    expect(lines.get('responses are answered, whole and streamed')).to.match(
      /^passed .*: message of \d+ tokens; the stream has \d+ pieces, whole/,
    );
    expect(lines.get('responses call tools')).to.match(/^passed .*: the answer has function_call/);
    expect(lines.get('messages are answered, whole and streamed')).to.match(
      /^passed .*: text of \d+ tokens; the stream has \d+ pieces, whole/,
    );
    expect(lines.get('messages call tools')).to.match(/^passed .*: the answer has tool_use/);
    expect(lines.get('tokens of a message are counted as they are read')).to.match(
      /^passed .*(\d+) counted, \1 read/,
    );
    for (const title of [
      'streams go on when their engine is killed',
      'a pod that is replaced completes its streams',
      'the engine sleeps when it is idle, and is woken by a request',
    ])
      expect(lines.get(title)).to.match(/^skipped .*: set DEPLOYMENT/);
  });

  it('leaves out the dialects that an engine does not speak', async () => {
    const { lines } = await check('plain');
    expect(lines.get('messages call tools')).to.match(/^skipped .*: it has no \/v1\/messages/);
    expect(lines.get('responses call tools')).to.match(/^skipped .*: it has no \/v1\/responses/);
  });

  it('makes images and videos where the model does', async () => {
    const images = await check('image');
    expect([...images.lines.values()].join('\n')).to.match(
      /passed +an image is made: \d+ bytes; the same seed made/,
    );
    expect(images.lines.get('speed')).to.match(/^passed .*4 at a time/);
    const videos = await check('video');
    expect(videos.lines.get('a video is made')).to.match(/^passed .*\d+ bytes in \d+ ms/);
    expect(videos.lines.get('videos wait for each other, and all are made')).to.match(/^passed /);
    expect(videos.code).to.equal(0);
  });

  it('compares vectors where the model embeds, and the order of texts where it ranks', async () => {
    const vectors = await check('vectors');
    expect(vectors.lines.get('texts that fit are closer to each other')).to.match(/^passed .*384 numbers; 0/);
    expect(vectors.lines.get('many texts at once have the vectors that they have alone')).to.match(
      /^passed .*100 vectors; 1.000/,
    );
    expect(vectors.lines.get('a text that is far too long harms nobody')).to.match(/^passed .*is served/);
    expect(vectors.lines.get('speed')).to.match(/^passed .*64 clients: \d+ texts\/s, 64 whole/);
    expect(vectors.code).to.equal(0);
    const order = await check('order');
    expect(order.lines.get('the text that fits comes first')).to.match(
      /^passed .*first of 3 routes: 1, 1, 1/,
    );
    expect(order.lines.get('it comes first of many, too')).to.match(/^passed .*100 results, number 50 first/);
    expect(order.lines.get('speed')).to.match(/^passed /);
    expect(order.code).to.equal(0);
  });

  it('hears and speaks where the model does', async () => {
    const heard = await check('ear');
    expect(heard.lines.get('sound becomes text')).to.match(/^passed .*10 s are ".*set SOUND/);
    expect(heard.lines.get('text is streamed')).to.match(/^passed .*the same text as in one piece, whole/);
    expect(heard.lines.get('a sound of more than a minute is heard to its end')).to.match(
      /^passed .*65 s of/,
    );
    expect(heard.lines.get('what is no sound is refused, and the engine serves on')).to.match(
      /^passed .*400 /,
    );
    expect(heard.lines.get('speed')).to.match(/^passed .*seconds of sound\/s, 64 whole/);
    expect(heard.code).to.equal(0);
    const spoken = await check('mouth');
    expect(spoken.lines.get('a longer text is a longer sound')).to.match(/^passed /);
    expect(spoken.lines.get('sound is streamed')).to.match(/^passed .*\d+ bytes, the first after \d+ ms/);
    expect(spoken.lines.get(LEAVING)).to.match(/\d+ ms before, \d+ ms after/);
    expect(spoken.lines.get('speed')).to.match(/^passed .*16 clients/);
  });

  it('says what is wrong where nothing can be checked', async () => {
    const { baseURL } = find('one');
    for (const [env, said] of [
      [{ URL: baseURL.replace(/\/v1$/, ''), KEY: key }, /no endpoint: it ends with \/v1/],
      [{ URL: baseURL, KEY: 'sk-berth-wrong' }, /^401 /],
      [{ URL: 'http://127.0.0.1:2/v1', KEY: key }, /cannot be reached: .*ECONNREFUSED/],
      [{ URL: find('bare').baseURL, KEY: key }, /nothing to check/],
    ] as const) {
      const { code, error } = await runCheck(env);
      expect(error).to.match(said);
      expect(code).to.equal(2);
    }
  });
});
