import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CheckRun, createCheckKey, runCheck, writeSimulated } from '../support/gpu-check-run.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { runSideBySide } from '../support/side-by-side.ts';

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
      ['image', 'Image', { image: { sizes: [size], tasks: ['txt2img', 'img2img'], parameters: ['seed'] } }],
      ['whole', 'Image', { image: { sizes: [size], tasks: ['img2img'], mask: false } }],
      ['video', 'Video', { video: { resolutions: [size], tasks: ['t2v', 'i2v'] } }],
      ['vectors', 'Embedding', {}],
      ['order', 'Rerank', {}],
      ['ear', 'Transcription', {}],
      ['mouth', 'Speech', {}],
      ['plain', 'LLM', { engine: { routes: ['/v1/chat/completions'] } }],
      ['bare', 'LLM', { engine: { routes: ['/v1/completions'] } }],
    ] as const)
      writeSimulated(models, name, { kind, ...more });
    writeSimulated(models, 'narrow', { kind: 'LLM', concurrency: 1 }, { SIMULATOR_PREFILL_MS: '0.01' });
    const limits = { waitForSlot: '500ms' };
    writeSimulated(
      models,
      'brief',
      { kind: 'LLM', concurrency: 1, limits },
      { SIMULATOR_PREFILL_MS: '0.005' },
    );
    stack = await startLocalStack({ MODELS: models });
    // Several checks at a time use it.
    key = await createCheckKey(stack, 3_000);
  });
  after(async () => {
    await stack?.stop();
    rmSync(models, { recursive: true, force: true });
  });

  /** Beside the others: they mostly wait, for engines of their own. */
  const itBeside = runSideBySide();
  const find = (name: string) => stack.endpoints.deployments.find((entry) => entry.name === name)!;
  const check = (name: string, apiKey = key, env: Record<string, string> = {}): Promise<CheckRun> =>
    runCheck({ URL: find(name).baseURL, KEY: apiKey, ...env });
  const PRIORITY = 'a key of higher priority is served first';
  const MASK = 'an edit with a mask changes what the mask shows';
  const LEAVING = 'clients that leave free the engine';
  const REFUSED = /^failed .*429 .*rate_limit_exceeded.*; use a key with rpm ≥ 1000/;

  it('says by the first refusal that the limits of a key are too low, and takes no refused client for one that left', async () => {
    const { code, lines } = await check('one', await createCheckKey(stack, 10));
    expect(code).to.equal(1);
    for (const title of [LEAVING, 'speed']) expect(lines.get(title)).to.match(REFUSED);
  });

  it('says why the speed of many clients cannot be measured with a key of ordinary limits', async () => {
    const { lines } = await check('one', await createCheckKey(stack, 60), { ONLY: 'speed' });
    expect(lines.get('speed')).to.match(REFUSED);
  });

  it('runs all that needs no cluster with a key of high limits', async () => {
    const { lines } = await check('one');
    expect(lines.size).to.equal(21);
    expect([...lines.values()].join('\n')).not.to.include('rate_limit_exceeded');
    expect(lines.get('speed')).to.match(/^passed .*64 clients: \d+ tokens\/s, 64 whole/);
    expect(lines.get(LEAVING)).to.match(/\d+ ms before, \d+ ms after/);
    expect(lines.get('tools are called without being asked for by name')).to.match(/^passed /);
    expect(lines.get('a JSON schema is held')).to.match(/^passed .*4 of 4 answers hold it/);
    expect(lines.get('reasoning is in a field of its own')).to.match(/^skipped .*it tells no reasoning$/);
    expect(lines.get('log probabilities are there')).to.match(/^passed .*: 16 of 16 tokens/);
    expect(lines.get('several choices are made')).to.match(/^passed .*: 4 of 4, 4 of them different/);
    expect(lines.get('long prompts at once are answered, and the engine stays ready')).to.match(
      /^passed .*: 8 of 8 prompts of about 104857 tokens answered, the slowest first token after \d+ ms; short requests beside them: \d+ × 200, .*set DEPLOYMENT/,
    );
    expect(lines.get('many long answers at once are whole')).to.match(
      /^passed .*: 64 of 64 have all of their 1024 tokens, in \d+ ms; /,
    );
    expect(lines.get(PRIORITY)).to.match(/^skipped .*: set PRIORITY_KEY/);
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

  itBeside(
    'shows that a key of higher priority is served before those that wait, where the engine is full',
    async () => {
      const PRIORITY_KEY = await createCheckKey(stack, 1_000, 10);
      const { lines, code } = await check('narrow', key, { PRIORITY_KEY, ONLY: 'key of higher' });
      expect(lines.get(PRIORITY)).to.match(
        /^passed .*first token came after \d+ ms, before \d+ of \d+ that waited/,
      );
      expect([lines.size, code]).to.deep.equal([1, 0]);
      const equal = await check('narrow', key, { PRIORITY_KEY: key, ONLY: 'key of higher' });
      // A short request of equal priority may pass some of the long ones by itself.
      const countPassed = (run: CheckRun) => Number(/before (\d+) of/.exec(run.lines.get(PRIORITY)!)![1]);
      expect(countPassed(equal)).to.be.below(countPassed({ lines, code } as CheckRun));
    },
  );

  itBeside('asks again where the engine takes few at a time', async () => {
    const { lines } = await check('brief', key, { ONLY: 'long prompts' });
    expect([...lines.values()].join()).to.match(
      /^passed .*: 8 of 8 prompts .*; short requests beside them: (\d+ × 200, )?\d+ × 429, /,
    );
  });

  it('leaves out the dialects that an engine does not speak', async () => {
    const { lines } = await check('plain', key, { ONLY: 'call tools' });
    expect(lines.get('messages call tools')).to.match(/^skipped .*: it has no \/v1\/messages/);
    expect(lines.get('responses call tools')).to.match(/^skipped .*: it has no \/v1\/responses/);
  });

  itBeside('makes images and videos where the model does', async () => {
    const [images, whole, videos] = await Promise.all([check('image'), check('whole'), check('video')]);
    expect([...images.lines.values()].join('\n')).to.match(
      /passed +an image is made: \d+ bytes; the same seed made/,
    );
    expect(images.lines.get('several images are made at once')).to.match(
      /^passed .*: 2 of 2, 2 of them different/,
    );
    expect(images.lines.get(MASK)).to.match(
      /^passed .*: of 255 it differs by [1-9]\d?\.\d where the mask shows, by 0\.\d elsewhere/,
    );
    expect(images.lines.get('speed')).to.match(/^passed .*4 at a time/);
    expect(whole.lines.get('an image is made')).to.match(/^passed /);
    expect(whole.lines.get(MASK)).to.match(/^skipped .*: it does not change parts of images/);
    expect(videos.lines.get('a video is made')).to.match(/^passed .*\d+ bytes in \d+ ms/);
    expect(videos.lines.get('videos wait for each other, and all are made')).to.match(/^passed /);
    expect(videos.lines.get('a video is made of an image')).to.match(/^passed .*\d+ bytes in \d+ ms/);
    expect(videos.lines.get('a canceled video leaves the engine to the next one')).to.match(
      /^passed .*: completed, canceled, completed; the first in \d+ ms, the last \d+ ms after it/,
    );
    expect(videos.code).to.equal(0);
  });

  it('compares vectors where the model embeds, and the order of texts where it ranks', async () => {
    const [vectors, order] = await Promise.all([check('vectors'), check('order')]);
    expect(vectors.lines.get('texts that fit are closer to each other')).to.match(/^passed .*384 numbers; 0/);
    expect(vectors.lines.get('many texts at once have the vectors that they have alone')).to.match(
      /^passed .*100 vectors; 1.000/,
    );
    expect(vectors.lines.get('a text that is far too long harms nobody')).to.match(/^passed .*is served/);
    expect(vectors.lines.get('speed')).to.match(/^passed .*64 clients: \d+ texts\/s, 64 whole/);
    expect(vectors.code).to.equal(0);
    expect(order.lines.get('the text that fits comes first')).to.match(
      /^passed .*first of 3 routes: 1, 1, 1/,
    );
    expect(order.lines.get('it comes first of many, too')).to.match(/^passed .*100 results, number 50 first/);
    expect(order.lines.get('speed')).to.match(/^passed /);
    expect(order.code).to.equal(0);
  });

  it('hears and speaks where the model does', async () => {
    const [heard, spoken] = await Promise.all([check('ear'), check('mouth')]);
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
      [{ URL: baseURL, KEY: key, ONLY: 'nonsense' }, /no check has ONLY in its title; there are: tools/],
    ] as const) {
      const { code, error } = await runCheck(env);
      expect(error).to.match(said);
      expect(code).to.equal(2);
    }
  });
});
