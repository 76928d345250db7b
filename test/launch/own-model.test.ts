import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { formatTinyModel } from '../../cluster/tiny-gguf.ts';
import { ensureValkey } from '../../machine/valkey.ts';
import { writeFakeEngine } from '../support/fake-engine.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { startModelHub } from '../support/model-hub.ts';
import { pollUntil } from '../support/poll.ts';

const MODEL = formatTinyModel();

const untilPrinted = (stack: LocalStack) =>
  pollUntil(() => stack.output().includes('Ctrl-C stops it'), 'the last line', 10_000);

/** What the printed lines do: export the key, and send the chat. */
async function chatAsPrinted(output: string) {
  const [, key] = /^ {2}export BERTH_KEY=(\S+)$/m.exec(output) ?? [];
  const [, url] = /^ {2}curl -N (\S+) \\$/m.exec(output) ?? [];
  const answer = await fetch(url!, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  return choices[0]!.message.content;
}

describe('make run with a model of one’s own', () => {
  let folder: string;
  let env: Record<string, string>;
  let stack: LocalStack | undefined;
  let failing: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-own-model-'));
    const programs = join(folder, 'programs');
    failing = join(folder, 'failing');
    for (const name of [programs, failing]) mkdirSync(name);
    for (const name of ['llama-server', 'vllm'] as const) writeFakeEngine(programs, name);
    const script = '#!/bin/sh\necho "error loading model: unknown architecture"\nexit 1\n';
    writeFileSync(join(failing, 'llama-server'), script, { mode: 0o755 });
    env = {
      PATH: `${programs}${delimiter}${process.env.PATH}`,
      BERTH_CACHE: join(folder, 'cache'),
      BERTH_REDIS_SERVER: ensureValkey(),
    };
    writeFileSync(join(folder, 'tiny.gguf'), MODEL);
  });
  afterEach(async () => {
    await stack?.stop();
    stack = undefined;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (given: string, more: Record<string, string> = {}) =>
    spawnSync(process.execPath, ['launch/local.ts'], {
      env: {
        ...process.env,
        ...env,
        BERTH_STATE: join(folder, 'state'),
        MODEL: given,
        PORT: '14100',
        ...more,
      },
      encoding: 'utf8',
      timeout: 60_000,
    });

  it('serves a GGUF file alone, says why it waits while that loads, and prints what chats with it', async () => {
    const [gated, gate] = [join(folder, 'gated'), join(folder, 'gate')];
    mkdirSync(gated);
    const program = join(folder, 'programs', 'llama-server');
    const script = `#!/bin/sh\nuntil [ -e '${gate}' ]; do sleep 0.1; done\nexec '${program}' "$@"\n`;
    writeFileSync(join(gated, 'llama-server'), script, { mode: 0o755 });
    const PATH = `${gated}${delimiter}${env.PATH}`;
    // Its file of addresses is there already.
    stack = await startLocalStack({
      ...env,
      PATH,
      MODEL: join(folder, 'tiny.gguf'),
      ARGS: '--ctx-size 512',
    });
    await pollUntil(() => /^tiny: \S/m.test(stack!.output()), 'what it waits for', 10_000);
    expect(stack.output()).not.to.include('Ctrl-C stops it');
    writeFileSync(gate, '');
    await untilPrinted(stack);
    expect(stack.endpoints.deployments.map(({ name, modelId }) => [name, modelId])).to.deep.equal([
      ['tiny', 'tiny'],
    ]);
    expect(await chatAsPrinted(stack.output())).to.equal('Hello from an engine');
  });

  it('serves what a hub has, from a mirror', async () => {
    const hub = await startModelHub('org/Tiny-GGUF');
    hub.files.set('tiny-Q8_0.gguf', MODEL);
    hub.files.set('tiny-F32.gguf', MODEL);
    try {
      hub.token = 'hf_secret';
      stack = await startLocalStack({
        ...env,
        MODEL: 'org/Tiny-GGUF:Q8_0',
        HF_ENDPOINT: hub.url,
        HF_TOKEN: 'hf_secret',
      });
      await untilPrinted(stack);
      expect(stack.output()).to.match(/^org\/Tiny-GGUF: tiny-Q8_0\.gguf, .*\ndownloading: /);
      expect(stack.endpoints.deployments).to.have.length(1);
      expect(stack.endpoints.deployments[0]).to.include({ name: 'tiny', modelId: 'org/Tiny-GGUF' });
      expect(await chatAsPrinted(stack.output())).to.equal('Hello from an engine');
      expect(stack.output()).not.to.include('hf_secret');
    } finally {
      await hub.stop();
    }
  });

  it('serves a folder of safetensors with vllm', async () => {
    const weights = join(folder, 'Tiny-Chat');
    mkdirSync(weights);
    for (const file of ['config.json', 'model.safetensors']) writeFileSync(join(weights, file), '{}');
    stack = await startLocalStack({ ...env, MODEL: weights });
    await untilPrinted(stack);
    expect(await chatAsPrinted(stack.output())).to.equal('Hello from an engine');
    const { status, stderr } = run(weights, { PATH: failing });
    expect(status).to.equal(1);
    expect(stderr).to.match(/vllm is not on PATH: install it \(pip install vllm/);
  });

  it('ends with the reason where the engine does not start', () => {
    const { status, stderr } = run(join(folder, 'tiny.gguf'), {
      PATH: `${failing}${delimiter}${process.env.PATH}`,
    });
    expect(status).to.equal(1);
    expect(stderr).to.match(
      /tiny does not start: .*unknown architecture.*\nThe engine's log: .*_engine\.log/s,
    );
  });

  it('shows how llama-server is fetched, and ends at once when it is interrupted meanwhile', async () => {
    const slow = join(folder, 'slow');
    mkdirSync(slow);
    const script = '#!/bin/sh\necho "Get:1 of a mirror"\nexec sleep 20\n';
    for (const name of ['apt-get', 'dpkg']) writeFileSync(join(slow, name), script, { mode: 0o755 });
    const child = spawn(process.execPath, ['launch/local.ts'], {
      env: {
        ...process.env,
        PATH: [slow, '/usr/bin', '/bin'].join(delimiter),
        BERTH_CACHE: join(folder, 'empty-cache'),
        BERTH_STATE: join(folder, 'state'),
        MODEL: join(folder, 'tiny.gguf'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let printed = '';
    child.stderr.on('data', (chunk) => {
      printed += chunk;
    });
    await pollUntil(() => printed.includes('Get:1'), 'its progress', 10_000);
    child.kill('SIGTERM');
    await pollUntil(() => child.exitCode !== null, 'its end', 5_000);
  });

  it('ends at once for what cannot be served', () => {
    writeFileSync(join(folder, 'page.gguf'), '<html>');
    for (const [given, words] of [
      ['./missing.gguf', /there is no such file or folder/],
      [join(folder, 'page.gguf'), /is not a GGUF file.*Git LFS/],
      [folder, /no config\.json with \.safetensors.*\n {2}MODEL=.*\/page\.gguf\n {2}MODEL=.*\/tiny\.gguf/],
    ] as const) {
      const { status, stderr } = run(given);
      expect([status, stderr.split('\n')[0]], given).to.have.property('0', 1);
      expect(stderr).to.match(words);
    }
  });
});
