/** What `make run` does as a cluster does it: through its API server, with kubectl where a person would take it. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { ensureBinary } from '../../../cluster/binaries.ts';
import { writeFakeEngine } from '../../support/fake-engine.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';
import { startModelHub } from '../../support/model-hub.ts';
import { pollUntil } from '../../support/poll.ts';

const describeModel = (name: string, engine: object, more: object = {}) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name, namespace: 'default' },
  spec: { kind: 'LLM', model: { id: name, ...more }, engine },
});
/** A kubectl for each look would keep a core busy. */
const KUBECTL_INTERVAL_MS = 250;
const GGUF = { source: { huggingFace: { repo: 'example/model' } } };

describe('a deployment of make run', () => {
  let stack: LocalStack;
  let kubectl: string;
  let models: string;
  let programs: string;
  const start = () => startLocalStack({ MODELS: models, PATH: `${programs}${delimiter}${process.env.PATH}` });

  before(async () => {
    kubectl = await ensureBinary('kubectl');
    models = mkdtempSync(join(tmpdir(), 'berth-models-'));
    programs = mkdtempSync(join(tmpdir(), 'berth-programs-'));
    writeFakeEngine(programs, 'llama-server');
    const write = (name: string, object: object) =>
      writeFileSync(join(models, `${name}.yaml`), JSON.stringify(object));
    write('chat', describeModel('chat', { preset: 'simulator' }));
    write('llama', describeModel('llama', { preset: 'llama-cpp' }, GGUF));
    write('tei', {
      ...describeModel('tei', { preset: 'tei' }, GGUF),
      spec: {
        kind: 'Embedding',
        model: { id: 'tei', ...GGUF },
        engine: { preset: 'tei' },
        gpu: { count: 0 },
      },
    });
    stack = await start();
  });
  after(async () => {
    await stack?.stop();
    for (const folder of [models, programs]) rmSync(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<string> =>
    new Promise((resolve) => {
      const all = [
        '--kubeconfig',
        join(stack.folder, 'kubeconfig'),
        '--cache-dir',
        join(models, 'cache'),
        ...args,
      ];
      execFile(kubectl, all, { timeout: 60_000 }, (_, stdout, stderr) => resolve(stdout + stderr));
    });
  const readStatus = async (name: string) =>
    JSON.parse(await run('get', 'md', name, '-o', 'json')).status ?? {};
  const listPods = async (name: string): Promise<string[]> =>
    (await run('get', 'pods', '-l', `berth.dev/deployment=${name}`, '-o', 'name'))
      .split('\n')
      .filter(Boolean);
  const until = (what: string, is: () => Promise<boolean>, intervalMs = KUBECTL_INTERVAL_MS) =>
    pollUntil(is, what, 60_000, intervalMs);
  const chat = (name: string, key?: string) => {
    const { baseURL, apiKey, modelId } = stack.endpoints.deployments.find((entry) => entry.name === name)!;
    return fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key ?? apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: modelId, messages: [{ role: 'user', content: 'Hello' }] }),
    });
  };

  it('has the status, the pods and the events that it has on a cluster', async () => {
    const status = await readStatus('chat');
    expect(status).to.deep.include({ phase: 'Ready', readyReplicas: 1 });
    expect(status.url).to.equal(stack.endpoints.deployments.find(({ name }) => name === 'chat')!.baseURL);
    expect(await run('get', 'pods', '-l', 'berth.dev/deployment=chat')).to.match(/2\/2 +Running +0/);
    expect(await run('get', 'events')).to.match(/Normal +Ready +modeldeployment\/chat/);
    expect(await run('logs', 'deployment/chat', '-c', 'gateway')).to.match(/"message":"listening"/);
    expect(await run('logs', 'deployment/chat')).to.match(/LLM engine of chat listening/);
  });

  it('runs the program of its own preset where that is on this machine, behind its gateway', async () => {
    await until('the engine to serve', async () => (await readStatus('llama')).phase === 'Ready');
    const answer = await chat('llama');
    expect([
      answer.status,
      ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content,
    ]).to.deep.equal([200, 'Hello from an engine']);
    expect(await run('logs', 'deployment/llama')).to.match(
      /called with --hf-repo example\/model --host 127\./,
    );
  });

  it('reads weights from a claim that deployments share, which its loader filled', async () => {
    const hub = await startModelHub('example/model');
    hub.files.set('config.json', Buffer.from('{}'));
    const source = { huggingFace: { repo: 'example/model' }, cache: { claimName: 'models' } };
    const env = [{ name: 'HF_ENDPOINT', value: hub.url }];
    const file = join(programs, 'cached.yaml');
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'models' } };
    const model = describeModel('cached', { preset: 'simulator', env }, { source });
    // Begun as YAML: kubectl 1.32 cannot read several documents of JSON.
    writeFileSync(file, [claim, model].map((object) => `---\n${JSON.stringify(object)}\n`).join(''));
    await run('apply', '--server-side', '-f', file);
    await until('the engine to serve', async () => (await readStatus('cached')).phase === 'Ready');
    expect(hub.downloads).to.deep.equal([{ path: 'config.json', start: 0 }]);
    const [entry = ''] = readdirSync(join(stack.folder, 'claims', 'default', 'models'));
    expect(readdirSync(join(stack.folder, 'claims', 'default', 'models', entry))).to.include('current');
    await run('delete', 'md', 'cached');
    await hub.stop();
  });

  it('says what is missing, and how it is installed', async () => {
    const { conditions } = await readStatus('tei');
    const engine = conditions.find(({ type }: { type: string }) => type === 'EngineHealthy');
    expect(engine).to.include({ status: 'False', reason: 'EngineNotInstalled' });
    expect(engine.message).to.match(
      /text-embeddings-router is not on this machine; install it with: cargo install/,
    );
    const { baseURL, apiKey } = stack.endpoints.deployments.find((entry) => entry.name === 'tei')!;
    const readRefusal = async () => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const answer = await fetch(`${baseURL}/models`, { headers });
      const { error } = (await answer.json()) as { error: { message: string } };
      return { status: answer.status, message: error.message, retryAfter: answer.headers.get('retry-after') };
    };
    await until('its endpoint to say so', async () =>
      /^The deployment tei is not running/.test((await readRefusal()).message),
    );
    expect(await readRefusal()).to.include({ status: 503, retryAfter: null });
  });

  it('is scaled to none, in whose place the front answers, to two, paused and taken up again', async () => {
    await run('scale', 'md/chat', '--replicas=0');
    await until('no pod', async () => (await listPods('chat')).length === 0);
    const answer = await chat('chat');
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect([answer.status, error.code]).to.deep.equal([503, 'no_pod_available']);
    expect(error.message).to.match(/chat is scaled to zero replicas/);
    await run('scale', 'md/chat', '--replicas=2');
    await until('two replicas', async () => (await readStatus('chat')).readyReplicas === 2);
    await run('patch', 'md', 'chat', '--type=merge', '-p', '{"spec":{"paused":true}}');
    await until('the pause', async () => (await listPods('chat')).length === 0);
    expect((await chat('chat')).status).to.equal(503);
    await run('patch', 'md', 'chat', '--type=merge', '-p', '{"spec":{"paused":false,"replicas":1}}');
    await until('a replica', async () => (await readStatus('chat')).phase === 'Ready');
    expect((await chat('chat')).status).to.equal(200);
  });

  it('is rolled without a request that fails', async () => {
    const [before] = await listPods('chat');
    await run(
      'patch',
      'md',
      'chat',
      '--type=merge',
      '-p',
      '{"spec":{"rollout":{"revision":"2","maxSurge":1}}}',
    );
    const codes = new Set<number>();
    const isReplaced = async () => {
      codes.add((await chat('chat')).status);
      const pods = await listPods('chat');
      return pods.length === 1 && pods[0] !== before;
    };
    await until('another pod alone', isReplaced, 0);
    expect([...codes]).to.deep.equal([200]);
  });

  it('restarts an engine that crashed, as its status shows', async () => {
    const [control] = stack.endpoints.deployments.find(({ name }) => name === 'chat')!.simulatorURLs!;
    const { deployments } = JSON.parse(readFileSync(join(stack.folder, 'endpoints.json'), 'utf8'));
    const url = deployments.find(({ name }: { name: string }) => name === 'chat').simulatorURL ?? control;
    await fetch(`${url}/control`, { method: 'PUT', body: JSON.stringify({ fault: { kind: 'exit' } }) });
    await chat('chat').catch(() => {});
    await until('a restart', async () =>
      / Running +1 /.test(await run('get', 'pods', '-l', 'berth.dev/deployment=chat')),
    );
    await until('it to serve again', async () => (await chat('chat')).status === 200);
  });

  it('is added and removed while make run goes on', async () => {
    const path = join(models, 'cache.json');
    writeFileSync(path, JSON.stringify(describeModel('added', { preset: 'simulator' })));
    await run('apply', '-f', path);
    await until('it to serve', async () => (await readStatus('added')).phase === 'Ready');
    const { url } = await readStatus('added');
    const { apiKey } = stack.endpoints.deployments[0]!;
    expect(
      (await fetch(`${url}/models`, { headers: { authorization: `Bearer ${apiKey}` } })).status,
    ).to.equal(200);
    await run('delete', 'md', 'added');
    expect(await listPods('added')).to.deep.equal([]);
  });

  it('is served to a key that was made by kubectl, without the key in any file', async () => {
    const key = `sk-berth-${'k'.repeat(43)}`;
    const object = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: 'mine', namespace: 'default' },
      spec: { sha256: hashApiKey(key) },
    };
    const path = join(models, 'key.json');
    writeFileSync(path, JSON.stringify(object));
    await run('apply', '-f', path);
    await run('wait', 'apikey/mine', '--for=condition=Ready', '--timeout=30s');
    expect((await chat('chat', key)).status).to.equal(200);
    await run('delete', 'apikey', 'mine');
    await until('the key to end', async () => (await chat('chat', key)).status === 401);
  });
});
