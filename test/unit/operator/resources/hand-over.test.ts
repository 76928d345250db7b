/** The other programs read what the operator writes into their environment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Container } from '@kubernetes/client-node';
import { expect } from 'chai';
import { ADMIN_PATHS } from '../../../../api/gateway-environment.ts';
import { storageToken, workspacePrefix } from '../../../../api/identity.ts';
import { readRole, readSidecarEnvironment } from '../../../../gateway/environment/environment.ts';
import { readEnvironment } from '../../../../simulator/environment.ts';
import { build, SETTINGS } from './fixtures.ts';

const valuesOf = ({ env }: V1Container) => Object.fromEntries(env!.map(({ name, value }) => [name, value]));

describe('the gateway of a pod', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-sidecar-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('reads all that it needs from the variables and the Secret that the operator made', () => {
    const built = build({ rollout: { drainTimeout: '7m' } });
    for (const [file, data] of Object.entries(built.find('Secret').data as Record<string, string>))
      writeFileSync(join(folder, file), Buffer.from(data, 'base64'));
    const env = {
      ...valuesOf(built.gateway),
      GATEWAY_SECRET_PATH: folder,
      GATEWAY_POD_NAME: 'qwen-1',
      GATEWAY_POD_IP: '10.0.0.1',
    };
    expect(readRole(env)).to.equal('sidecar');
    expect(readSidecarEnvironment(env)).to.include({
      engineURL: 'http://127.0.0.1:8000',
      engineHealthPath: '/health',
      redisUsername: 'ws:team-a',
      podIP: '10.0.0.1',
      drainTimeoutMs: 420_000,
      httpPort: 8080,
      adminPort: 8081,
    });
  });

  it('reads where results go, and how much of them it may hold on its way', () => {
    const built = build({ kind: 'Video', engine: { preset: 'simulator' }, model: { id: 'm' } });
    for (const [file, data] of Object.entries(built.find('Secret').data as Record<string, string>))
      writeFileSync(join(folder, file), Buffer.from(data, 'base64'));
    const { storage } = readSidecarEnvironment({
      ...valuesOf(built.gateway),
      GATEWAY_SECRET_PATH: folder,
    });
    expect(storage).to.deep.equal({
      url: SETTINGS.storageURL,
      token: storageToken(SETTINGS.masterKey, 'team-a'),
      requestPrefix: workspacePrefix(SETTINGS.masterKey, 'team-a'),
      spool: { folder: '/var/spool/berth/files', maxBytes: 4 * 1024 ** 3 },
    });
  });

  it('is probed on paths that it has', () => {
    const { gateway, engine } = build();
    const probes = [gateway, engine].flatMap((container) => [
      container.startupProbe,
      container.readinessProbe,
      container.livenessProbe,
      container.lifecycle?.preStop,
    ]);
    const paths = probes.flatMap((probe) => probe?.httpGet?.path ?? []);
    expect(paths).to.have.members(Object.values(ADMIN_PATHS));
  });
});

describe('the simulator of a pod', () => {
  it('reads all that it needs from the variables that the operator set', () => {
    const { engine } = build({ model: { id: 'm' }, engine: { preset: 'simulator', port: 9000 } });
    expect(readEnvironment(valuesOf(engine))).to.deep.include({
      listen: { host: '127.0.0.1', port: 9000 },
      model: 'm',
      kind: 'LLM',
    });
  });
});
