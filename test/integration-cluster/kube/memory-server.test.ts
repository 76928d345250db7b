/** The memory API server under the real kubectl. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ensureBinary } from '../../../cluster/binaries.ts';
import { type ApiServer, startApiServer } from '../../../kube/memory/api-server.ts';
import { startGarbageCollector } from '../../../kube/memory/garbage-collector.ts';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { readLocalTypes, validateObject, warnOfObject } from '../../../launch/local-resources.ts';
import { pollUntil } from '../../support/poll.ts';

const TOKEN = 'sign-in';
const CHAT = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: 'chat', namespace: 'default' },
  spec: { kind: 'LLM', model: { id: 'chat' }, engine: { preset: 'simulator' } },
};

describe('the memory API server', () => {
  let api: MemoryApi;
  let server: ApiServer;
  let kubectl: string;
  let folder: string;
  before(async () => {
    kubectl = await ensureBinary('kubectl');
    folder = mkdtempSync(join(tmpdir(), 'berth-kubectl-'));
  });
  beforeEach(async () => {
    api = new MemoryApi({ types: readLocalTypes(), validate: validateObject, warn: warnOfObject });
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    startGarbageCollector(api);
    server = await startApiServer({ api, token: TOKEN, user: 'somebody', host: '127.0.0.1', port: 0 });
  });
  afterEach(() => server.close());
  after(() => rmSync(folder, { recursive: true, force: true }));

  const withServer = (args: readonly string[]) => [
    ...['--server', `${server.url}/${TOKEN}`, '--cache-dir', join(folder, String(server.port))],
    ...args,
  ];
  const run = (...args: string[]): Promise<{ code: number; output: string }> =>
    new Promise((resolve) => {
      execFile(kubectl, withServer(args), { timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
      );
    });
  const write = (object: object, name = 'object.json'): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(object));
    return path;
  };
  const find = () => api.get('modeldeployments.berth.dev', { namespace: 'default', name: 'chat' });

  it('warns of a model that cannot fit, and takes it', async () => {
    const engine = { preset: 'vllm', args: ['--tensor-parallel-size=4'] };
    const spec = { ...CHAT.spec, model: { id: 'meta/Llama-3.1-70B-Instruct' }, engine };
    const { code, output } = await run('apply', '-f', write({ ...CHAT, spec }));
    expect(code).to.equal(0);
    expect(output).to.match(
      /^Warning: spec\.engine\.args: --tensor-parallel-size=4 needs more GPUs than the 1/m,
    );
    expect(output).to.match(
      /^Warning: spec\.gpu: .* take about 130 GiB, more than 1 x 80 GiB of GPU memory/m,
    );
    expect(output).to.match(/created/);
    expect((await run('label', 'md/chat', 'a=b')).output).to.match(/labeled/);
  });

  it('takes what kubectl applies, changes and scales, and shows it in the columns of its definition', async () => {
    const file = write(CHAT);
    expect(await run('apply', '-f', file)).to.deep.equal({
      code: 0,
      output: 'modeldeployment.berth.dev/chat created\n',
    });
    expect((await run('apply', '-f', file)).output).to.match(/unchanged/);
    expect((await run('scale', 'md/chat', '--replicas=3')).output).to.match(/scaled/);
    expect((find().spec as { replicas: number }).replicas).to.equal(3);
    expect((await run('get', 'md')).output).to.match(
      /^NAME +MODEL +KIND +STATUS +WANTED +READY +URL +AGE\nchat +chat +LLM/,
    );
    expect((await run('apply', '--server-side', '-f', file)).output).to.match(/serverside-applied/);
    expect((await run('explain', 'md.spec.kind')).output).to.match(/Vision-language models are LLM/);
    expect((await run('delete', 'md', 'chat')).code).to.equal(0);
    expect((await run('get', 'md')).output).to.match(/No resources found/);
  });

  it('refuses what is misspelled or wrong, in words', async () => {
    const misspelled = write({ ...CHAT, spec: { ...CHAT.spec, replcas: 2 } });
    expect((await run('apply', '-f', misspelled)).output).to.match(/unknown field "spec\.replcas"/);
    const wrong = write({ ...CHAT, spec: { ...CHAT.spec, replicas: -1 } });
    expect((await run('apply', '-f', wrong)).output).to.match(/is invalid: \n\* spec\.replicas: /);
    expect(await run('apply', '--dry-run=server', '-f', write(CHAT))).to.include({ code: 0 });
    expect(api.list('modeldeployments.berth.dev')).to.deep.equal([]);
  });

  it('takes Kubernetes’ own kinds, which kubectl patches strategically', async () => {
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
    const spec = { selector: { matchLabels: labels }, template };
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec };
    expect((await run('apply', '-f', write(deployment))).output).to.match(/created/);
    expect((await run('set', 'image', 'deployment/web', 'web=web:2')).output).to.match(/updated/);
    expect((await run('get', 'deployment', 'web', '-o', 'jsonpath={..image}')).output).to.equal('web:2');
    expect((await run('rollout', 'restart', 'deployment/web')).output).to.match(/restarted/);
  });

  it('sends a watch every change, and waits until a condition holds', async () => {
    await run('apply', '-f', write(CHAT));
    const watch = spawn(kubectl, withServer(['get', 'md', '-w', '--no-headers']));
    const lines = collectLines(watch);
    try {
      await pollUntil(() => lines().length === 1, 'the object', 30_000);
      const waiting = run('wait', 'md/chat', '--for=condition=Ready', '--timeout=30s');
      const conditions = [
        { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '' },
      ];
      const at = { namespace: 'default', name: 'chat' };
      const status = { observedGeneration: 1, phase: 'Ready', conditions };
      api.patch('modeldeployments.berth.dev', at, { status }, { type: 'merge', subresource: 'status' });
      expect((await waiting).output).to.match(/condition met/);
      await pollUntil(() => /LLM +Ready/.test(lines().at(-1) ?? ''), 'the change', 30_000);
    } finally {
      watch.kill();
    }
  });

  const call = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, { headers });
    return { status: response.status, body: (await response.json()) as { reason?: string; code?: number } };
  };

  for (const authorization of ['', 'Bearer ', 'Bearer other', `Basic ${TOKEN}`])
    it(`refuses the authorization "${authorization}"`, async () => {
      const { status, body } = await call('/api/v1/namespaces', authorization ? { authorization } : {});
      expect([status, body.reason]).to.deep.equal([401, 'Unauthorized']);
    });

  it('takes the token in the header too', async () => {
    expect((await call('/api/v1/namespaces', { authorization: `Bearer ${TOKEN}` })).status).to.equal(200);
  });

  it('answers 410 to a watch from an expired version', async () => {
    const at = { namespace: 'default', name: 'a' };
    for (let count = 0; count < 5_002; count++)
      api.store.put('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: at });
    const { status, body } = await call(`/${TOKEN}/api/v1/configmaps?watch=true&resourceVersion=2`);
    expect([status, body.reason]).to.deep.equal([410, 'Expired']);
  });
});

function collectLines({ stdout }: ChildProcess): () => string[] {
  let text = '';
  stdout!.on('data', (chunk) => {
    text += chunk;
  });
  return () => text.split('\n').filter((line) => line !== '');
}
