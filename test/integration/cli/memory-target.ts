/** The API server of `make run` alone, and the commands' output. */
import { KubeConfig } from '@kubernetes/client-node';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { Output } from '../../../cli/framework/output.ts';
import type { Target } from '../../../cli/framework/target.ts';
import { createKubeClient } from '../../../kube/client.ts';
import { startApiServer } from '../../../kube/memory/api-server.ts';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { readLocalTypes } from '../../../launch/local-resources.ts';

export interface MemoryTarget extends Target {
  api: MemoryApi;
  /** Text of each log by `pod/container`, or the status that reading it gets; null: never an answer. */
  logs: Map<string, string | number | null>;
  close(): Promise<void>;
}

const NAMESPACE = 'team';

export async function startMemoryTarget(now?: () => Date): Promise<MemoryTarget> {
  const api = new MemoryApi({ types: readLocalTypes(), now });
  api.store.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const logs: MemoryTarget['logs'] = new Map();
  const server = await startApiServer({
    api,
    token: 'token',
    user: 'test',
    host: '127.0.0.1',
    port: 0,
    readLogs: ({ metadata }, query, res) => {
      const log = logs.get(`${metadata.name}/${query.get('container')}`);
      if (log === null) return;
      if (typeof log === 'number') res.writeHead(log);
      res.end(typeof log === 'string' ? log : '');
    },
  });
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `${server.url}/token`, skipTLSVerify: true },
    { name: 'u' },
  );
  const client = createKubeClient({ config });
  return {
    client,
    namespace: NAMESPACE,
    where: 'the context test',
    place: { kind: 'cluster', source: {} },
    api,
    logs,
    close: async () => {
      await client.close();
      await server.close();
    },
  };
}

/** The status as the operator would write it. */
export function setConditions(
  { api }: MemoryTarget,
  key: string,
  name: string,
  { conditions, ...status }: { conditions: Partial<Condition>[]; [field: string]: unknown },
): void {
  const object = api.get(key, { namespace: NAMESPACE, name }) as KubeObject;
  const filled = conditions.map((condition) => ({
    reason: '',
    message: '',
    lastTransitionTime: '2026-11-29T12:00:00Z',
    ...condition,
  }));
  api.store.put(key, { ...object, status: { ...status, conditions: filled } });
}

export interface Printed {
  out: string;
  error: string;
}

/** An output, and what is written to it. */
export function recordOutput(isJSON = false): { output: Output; printed: Printed } {
  const printed = { out: '', error: '' };
  const streams = {
    out: (text: string) => {
      printed.out += text;
    },
    error: (text: string) => {
      printed.error += text;
    },
    isTerminal: false,
  };
  return { output: new Output(streams, isJSON), printed };
}
