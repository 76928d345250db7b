import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { bundleProgram } from '../../../bundle-program.ts';
import { findFreePort, startProgram } from '../../support/child-program.ts';

describe('the operator as it is built', () => {
  const parent = mkdtempSync(join(tmpdir(), 'berth-bundle-'));
  const folder = join(parent, 'operator');
  const script = join(folder, 'main.js');
  before(() => bundleProgram('operator', folder));
  after(() => rmSync(parent, { recursive: true }));

  it("leaves out the Kubernetes client's generated API, which is 13 MiB of source", () => {
    expect(statSync(script).size).to.be.lessThan(4 * 1024 * 1024);
  });

  it("sends the token that a kubeconfig's command prints", async () => {
    const server = createServer((_, answer) => answer.writeHead(503).end());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const asked = new Promise((done) => server.once('request', ({ headers }) => done(headers.authorization)));
    const kubeconfig = join(parent, 'kubeconfig');
    writeFileSync(kubeconfig, formatExecKubeconfig((server.address() as AddressInfo).port));
    writeFileSync(join(parent, 'master-key'), 'secret');
    const program = startProgram(script, {
      KUBECONFIG: kubeconfig,
      OPERATOR_POD_NAME: 'operator-1',
      OPERATOR_NAMESPACE: 'berth-system',
      OPERATOR_DOMAIN: 'models.test',
      OPERATOR_INGRESS_CLASS: 'traefik',
      OPERATOR_FRONT_SERVICE: 'front',
      OPERATOR_GATEWAY_IMAGE: 'berth/berth:test',
      OPERATOR_REDIS_URL: 'redis://127.0.0.1:1',
      OPERATOR_SECRET_PATH: parent,
      OPERATOR_PORT: String(await findFreePort()),
    });
    try {
      expect(await asked, program.output).to.equal('Bearer printed');
    } finally {
      await program.stop('SIGKILL');
      server.close();
      server.closeAllConnections();
    }
  });
});

function formatExecKubeconfig(port: number): string {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'printed' },
  };
  const exec = {
    apiVersion: credential.apiVersion,
    command: process.execPath,
    args: ['-p', `'${JSON.stringify(credential)}'`],
    interactiveMode: 'Never',
  };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}
