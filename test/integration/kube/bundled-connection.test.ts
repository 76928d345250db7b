import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { bundleConnection } from '../../../bundle-connection.ts';

type Bundle = typeof import('../../../kube/connection.ts');

describe('kube/connection.ts as it is built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bundle-'));
  const file = join(folder, 'connection.mjs');
  before(async () => {
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    await bundleConnection('kube/connection.ts', file);
  });
  after(() => rmSync(folder, { recursive: true }));

  it("leaves out the Kubernetes client's generated API, which is 13 MiB of source", () => {
    expect(statSync(file).size).to.be.lessThan(1024 * 1024);
  });

  it("sends the token that a kubeconfig's command prints", async () => {
    const tokens: (string | undefined)[] = [];
    const server = createServer(({ headers }, answer) => {
      tokens.push(headers.authorization);
      answer.end('{}');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, formatExecKubeconfig((server.address() as AddressInfo).port));
    const { Connection, loadKubeConfig }: Bundle = await import(file);
    const connection = new Connection(loadKubeConfig({ file: kubeconfig }), 1);
    try {
      const request = { method: 'GET' as const, path: '/version', headers: {} };
      const answer = await connection.send({ ...request, signal: AbortSignal.timeout(30_000) });
      await answer.body.dump();
      expect(tokens).to.deep.equal(['Bearer printed']);
    } finally {
      await connection.close();
      server.close();
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
