/** Berth's chart, installed by Helm on an API server alone: nothing runs its pods. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { findGatewayDefinitions } from '../../../cluster/addons.ts';
import { ensureBinary } from '../../../cluster/binaries.ts';
import { formatKubeconfig } from '../../../cluster/kubeconfig.ts';
import { SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import type { KubeRequest } from '../../support/kube-request.ts';

const RELEASE = 'berth';
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface Helm {
  install(values: object): Promise<void>;
  upgrade(values: object): Promise<void>;
  /** Manifests of the hooks of what is installed. */
  readHooks(): Promise<string>;
  /** Removes its files. */
  close(): void;
}

/** Helm as it is on a laptop, of the API server at a URL that asks for no token. */
export async function prepareHelm(url: string): Promise<Helm> {
  const helm = await ensureBinary('helm');
  const folder = mkdtempSync(join(tmpdir(), 'berth-helm-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, formatKubeconfig({ server: url, authority: '', user: { token: 'none' } }));
  const run = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, HOME: folder, KUBECONFIG: kubeconfig };
    const command = [...args, '--namespace', SYSTEM_NAMESPACE];
    return (await promisify(execFile)(helm, command, { env, timeout: 120_000 })).stdout;
  };
  const apply = async (verb: 'install' | 'upgrade', values: object): Promise<void> => {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    await run(verb, RELEASE, 'charts/berth', '--values', file);
  };
  return {
    install: (values) => apply('install', values),
    upgrade: (values) => apply('upgrade', values),
    readHooks: () => run('get', 'hooks', RELEASE),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Definitions that come with other software: the Gateway API's own, and of Prometheus' operator the names alone. */
export async function installForeignDefinitions(request: KubeRequest): Promise<void> {
  const file = join(await findGatewayDefinitions(), 'gateway.networking.k8s.io_httproutes.yaml');
  const definitions = [
    parse(readFileSync(file, 'utf8')),
    defineMonitoring('PodMonitor', 'podmonitors'),
    defineMonitoring('PrometheusRule', 'prometheusrules'),
  ];
  for (const definition of definitions) await request('POST', DEFINITIONS, definition);
  for (const { metadata } of definitions)
    await request.until('GET', `${DEFINITIONS}/${metadata.name}`, ({ body }) => isEstablished(body));
}

// biome-ignore lint/suspicious/noExplicitAny: as the API server returns it
export const isEstablished = ({ status }: any): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status }: { type: string; status: string }) => type === 'Established' && status === 'True',
  );

function defineMonitoring(kind: string, plural: string) {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
