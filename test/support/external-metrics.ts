/** A small adapter that offers Berth's demand to HPAs as an external metric, as Prometheus and its adapter would. */
import { createServer } from 'node:https';
import { listen, readServerPort } from '../../kit/http-server.ts';
import { makeCertificates } from './test-certificates.ts';

const GROUP = 'external.metrics.k8s.io';
const NAME = 'external-metrics';
const NAMESPACE = 'default';

export interface ExternalMetrics {
  /** To be applied, so that the API server forwards requests for these metrics to this process. */
  objects: object[];
  /** Values returned so far, by deployment. */
  readonly values: ReadonlyMap<string, number>;
  close(): void;
}

/** `frontURL`: of the front's Service; `apiKey`: of the workspace whose deployments are scaled. */
export async function serveExternalMetrics(frontURL: string, apiKey: string): Promise<ExternalMetrics> {
  const values = new Map<string, number>();
  const readDemand = async (namespace: string, name: string): Promise<number> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const answer = await fetch(`${frontURL}/demand/${namespace}/${name}`, { headers });
    if (!answer.ok) throw new Error(`the front answered ${answer.status}`);
    const { demand } = (await answer.json()) as { demand: number };
    values.set(name, demand);
    return demand;
  };
  const respond = async (url: URL): Promise<object> => {
    const asked = new RegExp(`^/apis/${GROUP}/v1beta1/namespaces/([^/]+)/([^/]+)$`).exec(url.pathname);
    if (!asked) return RESOURCE_LIST;
    const [, namespace, metricName] = asked;
    const pairs = (url.searchParams.get('labelSelector') ?? '').split(',').map((label) => label.split('='));
    const metricLabels = Object.fromEntries(pairs) as Record<string, string>;
    const value = `${Math.round((await readDemand(namespace!, metricLabels.deployment!)) * 1_000)}m`;
    const item = { metricName, metricLabels, timestamp: new Date().toISOString(), value };
    return { kind: 'ExternalMetricValueList', apiVersion: `${GROUP}/v1beta1`, metadata: {}, items: [item] };
  };
  const server = createServer(makeCertificates(`DNS:${NAME}`), (req, res) => {
    respond(new URL(req.url!, 'https://adapter')).then(
      (body) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: Error) => res.writeHead(500).end(error.message),
    );
  });
  await listen(server, 0, '127.0.0.1');
  return {
    objects: describeService(readServerPort(server)),
    values,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const RESOURCE_LIST = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/v1beta1`,
  resources: [
    {
      name: 'berth_demand',
      singularName: '',
      namespaced: true,
      kind: 'ExternalMetricValueList',
      verbs: ['get'],
    },
  ],
};

const describeService = (port: number): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1beta1.${GROUP}` },
    spec: {
      group: GROUP,
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name: NAME, namespace: NAMESPACE, port },
    },
  },
];
