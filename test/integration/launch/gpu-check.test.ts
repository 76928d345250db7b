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
    writeFileSync(
      join(models, 'one.yaml'),
      JSON.stringify({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name: 'one', namespace: 'default' },
        spec: { kind: 'LLM', model: { id: 'one' }, engine: { preset: 'simulator' } },
      }),
    );
    stack = await startLocalStack({ MODELS: models });
  });
  after(async () => {
    await stack?.stop();
    rmSync(models, { recursive: true, force: true });
  });

  const check = async (rpm: number): Promise<{ code: number; lines: Map<string, string> }> => {
    const key = `sk-berth-for-the-check-${rpm}`;
    const limits = { rpm, tpd: 10_000_000, priority: 0 };
    const sha256 = hashApiKey(key);
    await createLocalKey(stack.endpoints, { namespace: 'default', name: `check-${rpm}`, sha256, ...limits });
    const env = { ...process.env, URL: stack.find('LLM').baseURL, KEY: key, DEPLOYMENT: '' };
    return new Promise((resolve) => {
      execFile(process.execPath, ['tools/gpu-check.ts'], { env }, (error, stdout) => {
        const lines = stdout.split('\n').filter(Boolean);
        const entries = lines.map((line) => [/^\w+ +([^:]+)/.exec(line)![1]!, line] as const);
        resolve({ code: (error?.code as number | undefined) ?? 0, lines: new Map(entries) });
      });
    });
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
});
