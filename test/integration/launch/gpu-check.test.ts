import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { createLocalKey } from '../../../launch/local-key.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';

/** The simulator stands for an engine: what is shown here is what the tool says of it, not how fast it is. */
describe('the check of a GPU', function () {
  this.timeout(180_000);
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  let stack: LocalStack;

  before(async () => {
    const size = '64x64';
    for (const [name, kind, media] of [
      ['one', 'LLM', {}],
      ['image', 'Image', { image: { sizes: [size], tasks: ['txt2img'], parameters: ['seed'] } }],
      ['video', 'Video', { video: { resolutions: [size], tasks: ['t2v'] } }],
      ['vectors', 'Embedding', {}],
    ] as const)
      writeFileSync(
        join(models, `${name}.yaml`),
        JSON.stringify({
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'ModelDeployment',
          metadata: { name, namespace: 'default' },
          spec: { kind, model: { id: name }, engine: { preset: 'simulator' }, ...media },
        }),
      );
    stack = await startLocalStack({ MODELS: models });
  });
  after(async () => {
    await stack?.stop();
    rmSync(models, { recursive: true, force: true });
  });

  interface Run {
    code: number;
    lines: Map<string, string>;
    error: string;
  }
  const run = (env: Record<string, string>): Promise<Run> =>
    new Promise((resolve) => {
      const options = { env: { ...process.env, DEPLOYMENT: '', SIZE: '64x64', SECONDS: '1', ...env } };
      execFile(process.execPath, ['tools/gpu-check.ts'], options, (error, stdout, stderr) => {
        const lines = stdout.split('\n').filter((line) => /^(passed|failed|skipped) /.test(line));
        const entries = lines.map((line) => [/^\w+ +([^:]+)/.exec(line)![1]!, line] as const);
        resolve({ code: (error?.code as number | undefined) ?? 0, lines: new Map(entries), error: stderr });
      });
    });
  const check = async (rpm: number): Promise<Run> => {
    const key = `sk-berth-for-the-check-${rpm}`;
    const limits = { rpm, tpd: 10_000_000, priority: 0 };
    const sha256 = hashApiKey(key);
    await createLocalKey(stack.endpoints, { namespace: 'default', name: `check-${rpm}`, sha256, ...limits });
    return run({ URL: stack.find('LLM').baseURL, KEY: key });
  };
  const checkKind = (kind: string): Promise<Run> => {
    const { baseURL, apiKey } = stack.find(kind);
    return run({ URL: baseURL, KEY: apiKey });
  };
  const LEAVING = 'clients that leave free the engine';

  it('says by the first refusal that the limits of a key are too low, and takes no refused client for one that left', async () => {
    const { code, lines } = await check(10);
    expect(code).to.equal(1);
    for (const title of [LEAVING, 'speed']) {
      expect(lines.get(title)).to.match(/^failed /);
      expect(lines.get(title)).to.match(/429 .*rate_limit_exceeded.*; use a key with rpm ≥ 1000/);
    }
  });

  it('runs all that needs no cluster with a key of high limits', async () => {
    const { lines } = await check(1_000);
    expect(lines.size).to.equal(7);
    expect([...lines.values()].join('\n')).not.to.include('rate_limit_exceeded');
    expect(lines.get('speed')).to.match(/^passed .*64 clients: \d+ tokens\/s, 64 whole/);
    expect(lines.get(LEAVING)).to.match(/\d+ ms before, \d+ ms after/);
    expect(lines.get('tools are called without being asked for by name')).to.match(/^passed /);
    expect(lines.get('a pod that is replaced completes its streams')).to.match(/^skipped /);
  });

  it('makes images and videos where the model does', async () => {
    const images = await checkKind('Image');
    expect([...images.lines.values()].join('\n')).to.match(
      /passed +an image is made: \d+ bytes; the same seed made/,
    );
    expect(images.lines.get('speed')).to.match(/^passed .*4 at a time/);
    const videos = await checkKind('Video');
    expect(videos.lines.get('a video is made')).to.match(/^passed .*\d+ bytes in \d+ ms/);
    expect(videos.lines.get('videos wait for each other, and all are made')).to.match(/^passed /);
    expect(videos.code).to.equal(0);
  });

  it('says what is wrong where nothing can be checked', async () => {
    const { baseURL, apiKey } = stack.find('LLM');
    for (const [env, said] of [
      [{ URL: baseURL.replace(/\/v1$/, ''), KEY: apiKey }, /no endpoint: it ends with \/v1/],
      [{ URL: baseURL, KEY: 'sk-berth-wrong' }, /^401 /],
      [{ URL: 'http://127.0.0.1:2/v1', KEY: apiKey }, /cannot be reached: .*ECONNREFUSED/],
      [{ URL: stack.find('Embedding').baseURL, KEY: apiKey }, /nothing to check/],
    ] as const) {
      const { code, error } = await run(env);
      expect(error).to.match(said);
      expect(code).to.equal(2);
    }
  });
});
