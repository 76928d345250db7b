/** What `make run` keeps from one start to the next. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../api/identity.ts';
import { createLocalKey } from '../support/local-key.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';

const OWN = '/apis/berth.dev/v1alpha1/namespaces/default';
const KEY = 'sk-berth-of-make-key';

describe('make run, started again', () => {
  let stack: LocalStack;
  let folder: string;
  let models: string;
  const write = (name: string, object: object) =>
    writeFileSync(join(models, `${name}.yaml`), JSON.stringify(object));
  const describeModel = (name: string) => ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name },
    spec: { kind: 'LLM', model: { id: name }, engine: { preset: 'simulator' } },
  });
  const start = () => startLocalStack({ MODELS: models, BERTH_STATE: folder });
  const call = async (method: string, path: string, body?: object) => {
    const { url, token } = stack.endpoints.objects!;
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as { spec?: Record<string, unknown> } };
  };
  const listModels = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${stack.endpoints.deployments[0]!.baseURL}/models`, { headers })).status;
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-state-'));
    models = mkdtempSync(join(tmpdir(), 'berth-models-'));
    write('one', describeModel('one'));
    write('two', describeModel('two'));
    stack = await start();
    await createLocalKey(stack.endpoints, {
      priority: 0,
      namespace: 'default',
      name: 'made',
      sha256: hashApiKey(KEY),
      rpm: 60,
      tpd: 1_000_000,
    });
    await call('PATCH', `${OWN}/modeldeployments/one`, { spec: { replicas: 2 } });
    await call('PATCH', `${OWN}/apikeys/make-run`, { spec: { disabled: true } });
    const [first] = [stack.endpoints];
    await stack.stop();
    rmSync(join(models, 'two.yaml'));
    stack = await start();
    expect(stack.endpoints.webhooks).to.deep.equal(first.webhooks);
  });
  after(async () => {
    await stack?.stop();
    for (const each of [folder, models]) rmSync(each, { recursive: true, force: true });
  });

  it('serves the keys that were made before', async () => {
    expect(await listModels(KEY)).to.equal(200);
  });

  it('has its own key again, whatever was done to it', async () => {
    expect(await listModels(stack.endpoints.deployments[0]!.apiKey)).to.equal(200);
  });

  it('keeps what people set beside what the files say', async () => {
    expect((await call('GET', `${OWN}/modeldeployments/one`)).body.spec).to.include({ replicas: 2 });
  });

  it('deletes what the files do not have any more', async () => {
    expect(stack.endpoints.deployments.map(({ name }) => name)).to.deep.equal(['one']);
  });

  it('keeps its objects where nobody else reads them', () => {
    for (const file of ['objects.json', 'kubeconfig', 'endpoints.json'])
      expect(statSync(join(folder, file)).mode & 0o077, file).to.equal(0);
  });

  it('takes no file that has a key of its name', async () => {
    await stack.stop();
    const spec = { sha256: hashApiKey(KEY) };
    write('key', { apiVersion: 'berth.dev/v1alpha1', kind: 'APIKey', metadata: { name: 'make-run' }, spec });
    const refusal = await start().catch((error: Error) => error);
    expect(refusal).to.be.an('error').with.property('message').that.includes('APIKey/make-run in default');
  });
});
