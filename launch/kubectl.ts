/** kubectl against the cluster of `make cluster`, entered with its `exec` prefix. */
import { spawn } from 'node:child_process';
import { ensureBinary } from '../cluster/binaries.ts';

export interface ClusterAccess {
  kubeconfig: string;
  exec: string[];
}

/** Runs kubectl and returns its output; throws with its error text. */
export async function runKubectl(cluster: ClusterAccess, args: string[], input = ''): Promise<string> {
  const kubectl = await ensureBinary('kubectl');
  return runInCluster(cluster, [kubectl, '--kubeconfig', cluster.kubeconfig, ...args], input);
}

/** Runs a program with the cluster's `exec` prefix. */
export function runInCluster(cluster: ClusterAccess, command: string[], input = ''): Promise<string> {
  const [program, ...args] = [...cluster.exec, ...command];
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk;
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve(output)
        : reject(new Error(`${command.slice(0, 6).join(' ')} failed: ${errors.trim() || output.trim()}`)),
    );
    child.stdin.end(input);
  });
}

/** Applies objects given as JSON. */
export async function applyObjects(cluster: ClusterAccess, objects: object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await runKubectl(cluster, ['apply', '--server-side', '-f', '-'], JSON.stringify(list));
}
