import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { ensureBinary } from '../../../cluster/binaries.ts';
import { type CheckRun, createCheckKey, runCheck, writeSimulated } from '../../support/gpu-check-run.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';

/** kubectl for `make run`, which has no `exec`: an engine is killed by the simulator's own control, and has the memory of a GPU. */
const describeKubectl = (
  kubectl: string,
  folder: string,
  controls: string[],
): string => `#!${process.execPath}
const { execFileSync } = require('node:child_process');
const args = process.argv.slice(2);
const kubectl = (...args) => execFileSync(${JSON.stringify(kubectl)},
  ['--kubeconfig', ${JSON.stringify(join(folder, 'kubeconfig'))}, '--cache-dir', ${JSON.stringify(join(folder, 'cache'))}, ...args],
  { encoding: 'utf8' });
const kill = async (pod) => {
  const ip = kubectl('get', pod, '-o', 'jsonpath={.status.podIP}');
  const control = ${JSON.stringify(controls)}.find((url) => new URL(url).hostname === ip);
  await fetch(control + '/control', { method: 'PUT', body: JSON.stringify({ fault: { kind: 'exit' } }) });
  await fetch('http://' + ip + ':8000/v1/chat/completions', {
    method: 'POST', body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
  }).catch(() => {});
};
const at = args.indexOf('exec');
if (at < 0) process.stdout.write(kubectl(...args));
else if (args.includes('nvidia-smi')) {
  const asleep = kubectl('get', 'md', process.env.DEPLOYMENT, '-o', 'jsonpath={.status.scaling.asleep}');
  console.log(asleep === 'true' ? 800 : 60000);
} else void kill(args[at + 1]);
`;

describe('the check of a GPU, with kubectl', function () {
  this.timeout(180_000);
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  const programs = mkdtempSync(join(tmpdir(), 'berth-programs-'));
  let stack: LocalStack;
  let key: string;

  before(async () => {
    writeSimulated(
      models,
      'pair',
      { kind: 'LLM', replicas: 2, resilience: { continueStreams: true } },
      { SIMULATOR_ITL_MS: '3', SIMULATOR_CACHE_TOKENS: '10000' },
    );
    const scaling = { min: 0, max: 1, stableWindow: '5s', idleTimeout: '1s', idle: 'Sleep' };
    const coldStart = { mode: 'Hold', holdFor: '60s' };
    const drowsy = { kind: 'Embedding', scaling: { ...scaling, coldStart } };
    writeSimulated(models, 'drowsy', drowsy, { SIMULATOR_SLEEP_MS: '300' });
    stack = await startLocalStack({ MODELS: models });
    key = await createCheckKey(stack, 1_000);
    const kubectl = await ensureBinary('kubectl');
    const script = describeKubectl(kubectl, stack.folder, find('pair').simulatorURLs!);
    writeFileSync(join(programs, 'kubectl'), script);
    chmodSync(join(programs, 'kubectl'), 0o755);
  });
  after(async () => {
    await stack?.stop();
    for (const folder of [models, programs]) rmSync(folder, { recursive: true, force: true });
  });

  const find = (name: string) => stack.endpoints.deployments.find((entry) => entry.name === name)!;
  const check = (name: string): Promise<CheckRun> =>
    runCheck({
      URL: find(name).baseURL,
      KEY: key,
      DEPLOYMENT: name,
      PATH: `${programs}${delimiter}${process.env.PATH}`,
    });
  const SLEEP = 'the engine sleeps when it is idle, and is woken by a request';

  it('kills an engine whose streams go on, and replaces a pod, which completes its own', async () => {
    const { lines } = await check('pair');
    expect(lines.get('the engine started with the flags of its preset')).to.match(/^passed .*Ready/);
    expect(lines.get('streams go on when their engine is killed')).to.match(
      /^passed .*: 8 of 8 whole, [1-8] of them continued$/,
    );
    expect(lines.get('a pod that is replaced completes its streams')).to.match(/^passed .*\d+ frames/);
    for (const title of [
      'long prompts at once are answered, and the engine stays ready',
      'many long answers at once are whole',
    ])
      expect(lines.get(title)).to.match(/^passed .*; 2 of 2 pods ready all the time, 0 restarts$/);
    expect(lines.get(SLEEP)).to.match(/^skipped .*: set spec.scaling.idle: Sleep/);
  });

  it('waits until an engine sleeps, and has it woken', async () => {
    const { lines, code } = await check('drowsy');
    expect(lines.get(SLEEP)).to.match(/^passed .*: 60000 MiB awake, 800 MiB asleep; woken in \d+ ms/);
    expect(code, [...lines.values()].join('\n')).to.equal(0);
  });
});
