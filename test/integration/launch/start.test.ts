import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startLocalStack } from '../../support/local-stack.ts';

describe('the start of make run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-models-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

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
