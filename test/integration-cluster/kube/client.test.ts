import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  isUnauthorized,
  KubeApiError,
} from '../../../kube/api-error.ts';
import { createKubeClient } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { configMap, useApi } from './api.ts';
import { FaultProxy } from './fault-proxy.ts';

const { ConfigMap, Service } = RESOURCES;

describe('The client on a real API server', () => {
  const api = useApi();
  let namespace: string;

  before(async () => {
    namespace = await api.makeNamespace();
  });

  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0)) await cleanUp();
  });
  const startProxy = async () => {
    const proxy = await FaultProxy.start(api.controlPlane.url);
    cleanups.push(() => proxy.close());
    return proxy;
  };

  const failure = (promise: Promise<unknown>): Promise<KubeApiError> =>
    promise.then(
      () => Promise.reject(new Error('expected a failure')),
      (error) => {
        expect(error).to.be.instanceOf(KubeApiError);
        return error as KubeApiError;
      },
    );

  it('makes 50 calls over at most 3 connections', async () => {
    const proxy = await startProxy();
    const client = api.connect({ server: proxy.url });
    for (let i = 0; i < 50; i++) await client.list(ConfigMap, { namespace });
    expect(proxy.accepted).to.be.at.most(3);
  });

  it('never opens more connections for calls than it may, however many are made at once', async () => {
    const proxy = await startProxy();
    const client = api.connect({ server: proxy.url, maxConnections: 3 });
    await Promise.all(Array.from({ length: 50 }, () => client.list(ConfigMap, { namespace })));
    expect(proxy.accepted).to.be.at.most(3);
  });

  it('reports what the API server refused, and why', async () => {
    const client = api.connect();
    const missing = await failure(client.get(ConfigMap, { namespace, name: 'missing' }));
    expect(isNotFound(missing)).to.equal(true);
    expect(missing.message).to.equal(
      `get configmaps ${namespace}/missing: 404 NotFound: configmaps "missing" not found`,
    );
    expect(await client.find(ConfigMap, { namespace, name: 'missing' })).to.equal(undefined);

    const made = await client.create(ConfigMap, configMap(namespace, 'twice'));
    const again = await failure(client.create(ConfigMap, configMap(namespace, 'twice')));
    expect([isAlreadyExists(again), isConflict(again)]).to.deep.equal([true, false]);

    await client.update(ConfigMap, { ...made, data: { a: '1' } });
    const stale = await failure(client.update(ConfigMap, { ...made, data: { a: '2' } }));
    expect([isConflict(stale), isAlreadyExists(stale)]).to.deep.equal([true, false]);

    const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: 'bad' }, spec: {} };
    const invalid = await failure(client.create(Service, service));
    expect(isInvalid(invalid)).to.equal(true);
  });

  it('refuses to apply a field that the API server does not know', async () => {
    const unknown = { ...configMap(namespace, 'typo'), dataa: { a: '1' } };
    const error = await failure(api.connect().apply(ConfigMap, unknown, { fieldManager: 'test' }));
    expect(error.message).to.contain('dataa');
  });

  it('gives up at its deadline when no answer comes', async () => {
    const proxy = await startProxy();
    const client = api.connect({ server: proxy.url, timeoutMs: 300, maxConnections: 1 });
    await client.list(ConfigMap, { namespace });
    proxy.silence();
    const error = await failure(client.list(ConfigMap, { namespace }));
    expect(error.message).to.equal(
      `list configmaps ${namespace}: no answer Timeout: no response within 300 ms`,
    );
    // The silent connection is not used again.
    await client.list(ConfigMap, { namespace });
  });

  it('gives up at its deadline while the connection is not even made', async () => {
    const proxy = await startProxy();
    proxy.isDeaf = true;
    const client = api.connect({ server: proxy.url, timeoutMs: 300 });
    const began = performance.now();
    const error = await failure(client.list(ConfigMap, { namespace }));
    expect(error.message).to.match(/no response within 300 ms$/);
    // The connection's own limit is 10 s.
    expect(performance.now() - began).to.be.below(5_000);
  });

  it('reports a refused connection, and aborts a call when its caller does', async () => {
    const gone = await startProxy();
    const client = api.connect({ server: gone.url });
    await gone.close();
    const refused = await failure(client.list(ConfigMap));
    expect(refused.message).to.match(/^list configmaps: no answer Unreachable: .*ECONNREFUSED/);
    const aborted = await failure(api.connect().list(ConfigMap, { signal: AbortSignal.abort() }));
    expect(aborted.reason).to.equal('Aborted');
  });

  it('reads a rotated token from its file after the old one was refused', async () => {
    const file = join(tmpdir(), `token-${process.pid}`);
    writeFileSync(file, 'outdated');
    const config = loadKubeConfig({ file: api.controlPlane.kubeconfig });
    const authProvider = { name: 'tokenFile', config: { tokenFile: file } };
    config.loadFromClusterAndUser(config.getCurrentCluster()!, { name: 'file', authProvider });
    const client = createKubeClient({ config });
    cleanups.push(() => client.close());
    expect(isUnauthorized(await failure(client.list(ConfigMap, { namespace })))).to.equal(true);
    writeFileSync(file, `${api.controlPlane.token}\n`);
    const page = await client.list(ConfigMap, { namespace });
    expect(page.items).to.be.an('array');
  });

  it('counts every call by verb, resource and code', async () => {
    const client = api.connect();
    await client.list(ConfigMap, { namespace });
    await client.find(ConfigMap, { namespace, name: 'missing' });
    expect(client.calls.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)).to.deep.equal([
      'list configmaps 200',
      'get configmaps 404',
    ]);
  });
});
