import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readEndpoints } from '../../launch/endpoints-file.ts';
import { pickPort } from '../support/child-program.ts';
import { startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';

/** Every process of a state folder, the launcher among them. */
const listProcesses = (folder: string): string[] =>
  readdirSync('/proc').filter((id) => {
    try {
      return readFileSync(`/proc/${id}/environ`, 'utf8').includes(`BERTH_STATE=${folder}\0`);
    } catch {
      return false;
    }
  });

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

describe('the start of make run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-models-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('refuses a second one in the same folder, names the first, and leaves its files', async () => {
    const model = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'one', namespace: 'default' },
      spec: { kind: 'LLM', model: { id: 'one' }, engine: { preset: 'simulator' } },
    };
    const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
    writeFileSync(join(models, 'one.yaml'), JSON.stringify(model));
    const first = await startLocalStack({ MODELS: models });
    try {
      const env = { ...process.env, BERTH_STATE: first.folder, MODELS: models, PORT: '14000' };
      const second = spawnSync(process.execPath, ['launch/local.ts'], {
        env,
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect(second.status).to.equal(1);
      const holder = readFileSync(join(first.folder, 'run.lock'), 'utf8');
      expect(second.stderr).to.include(`make run is already running (PID ${holder}; `);
      expect(readEndpoints(join(first.folder, 'endpoints.json'))).to.deep.equal(first.endpoints);
    } finally {
      await first.stop();
      rmSync(models, { recursive: true, force: true });
    }
  });

  it('leaves no process behind when it is ended as soon as Redis is up', async function () {
    if (process.platform !== 'linux') this.skip();
    const state = mkdtempSync(join(tmpdir(), 'berth-state-'));
    const port = 100 * pickPort(100, 100);
    const env = { ...process.env, BERTH_STATE: state, MODELS: 'examples/local', PORT: String(port) };
    const child = spawn(process.execPath, ['launch/local.ts'], { env, stdio: 'ignore' });
    // The port may still be another's for a moment.
    await pollUntil(
      async () => listProcesses(state).length > 1 && (await isOpen(port + 90)),
      'Redis',
      90_000,
    );
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await pollUntil(() => listProcesses(state).length === 0, 'the end of all', 2_000);
    rmSync(state, { recursive: true, force: true });
  });

  it('serves the others where an engine does not start, and says why in its words', async () => {
    const env = [{ name: 'SIMULATOR_TTFT_MS', value: 'soon' }];
    const describeModel = (name: string, engine: object) => ({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name, namespace: 'default' },
      spec: { kind: 'LLM', model: { id: name }, engine },
    });
    writeFileSync(
      join(folder, 'broken.yaml'),
      JSON.stringify(describeModel('broken', { preset: 'simulator', env })),
    );
    writeFileSync(join(folder, 'one.yaml'), JSON.stringify(describeModel('one', { preset: 'simulator' })));
    const stack = await startLocalStack({ MODELS: folder });
    try {
      // Its output may come later than the file of its endpoints.
      const isSaid = () =>
        /ModelDeployment default\/broken is not ready: .*SIMULATOR_TTFT_MS/s.test(stack.output());
      await pollUntil(isSaid, 'the words of the engine');
      const { baseURL, apiKey } = stack.endpoints.deployments.find(({ name }) => name === 'one')!;
      const headers = { authorization: `Bearer ${apiKey}` };
      expect((await fetch(`${baseURL}/models`, { headers })).status).to.equal(200);
    } finally {
      await stack.stop();
    }
  });
});
