import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readEndpoints } from '../../../launch/endpoints-file.ts';
import { startLocalStack } from '../../support/local-stack.ts';

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
      expect(second.stderr).to.include(`make run is up already, as process ${holder}`);
      expect(readEndpoints(join(first.folder, 'endpoints.json'))).to.deep.equal(first.endpoints);
    } finally {
      await first.stop();
      rmSync(models, { recursive: true, force: true });
    }
  });

  it('names the engine that did not start, with its words', async () => {
    const env = [{ name: 'SIMULATOR_TTFT_MS', value: 'soon' }];
    const model = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'broken', namespace: 'default' },
      spec: { kind: 'LLM', model: { id: 'broken' }, engine: { preset: 'simulator', env } },
    };
    writeFileSync(join(folder, 'broken.yaml'), JSON.stringify(model));
    const error = await startLocalStack({ MODELS: folder }).then(
      () => expect.fail('it started'),
      (error: Error) => error,
    );
    expect(error.message).to.match(/simulator default\/broken did not start; .*\n.*SIMULATOR_TTFT_MS/);
  });
});
