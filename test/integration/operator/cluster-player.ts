/** Plays what a cluster without controllers lacks: the Deployment controller, the scheduler, the kubelet. */

import { randomBytes } from 'node:crypto';
import type { V1Deployment, V1PodStatus } from '@kubernetes/client-node';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import type { ModelDeployment } from '../../../api/model-deployment.ts';
import type { KubeClient } from '../../../kube/client.ts';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import type { KubeRequest } from '../../support/kube-request.ts';
import { pollUntil } from '../../support/poll.ts';
import { FRONT_SERVICE, SYSTEM_NAMESPACE } from './operator-settings.ts';

export type Status = ModelDeployment['status'];
type DeploymentStatus = NonNullable<V1Deployment['status']>;

interface EndpointConditions {
  ready: boolean;
  serving: boolean;
  terminating: boolean;
}

type Event = KubeObject & { regarding?: { name?: string }; reason?: string; note?: string };

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const SPEC = {
  kind: 'LLM',
  model: { id: 'tiny' },
  engine: { preset: 'simulator' },
};

export class Cluster {
  readonly client: KubeClient;
  readonly #request: KubeRequest;

  constructor(client: KubeClient, request: KubeRequest) {
    this.client = client;
    this.#request = request;
  }

  async makeNamespace(name = `test-${randomBytes(4).toString('hex')}`): Promise<string> {
    await this.client.create(RESOURCES.Namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    });
    // Pods are refused without it; in a whole cluster a controller makes it.
    await this.client.create(RESOURCES.ServiceAccount, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: name },
    });
    return name;
  }

  createModel(namespace: string, name: string, spec: object = {}): Promise<KubeObject> {
    return this.create(BERTH_RESOURCES.ModelDeployment, { namespace, name }, { ...SPEC, ...spec });
  }

  create(
    resource: Resource,
    metadata: { namespace: string; name: string },
    spec: object,
  ): Promise<KubeObject> {
    const { apiVersion, kind } = resource;
    return this.client.create(resource, { apiVersion, kind, metadata, spec } as KubeObject);
  }

  change(namespace: string, name: string, spec: object): Promise<KubeObject> {
    return this.client.mergePatch(BERTH_RESOURCES.ModelDeployment, {
      at: { namespace, name },
      patch: { spec },
    });
  }

  delete(resource: Resource, namespace: string, name: string): Promise<void> {
    return this.client.delete(resource, { namespace, name });
  }

  find<T extends KubeObject = KubeObject>(
    resource: Resource,
    namespace: string,
    name: string,
  ): Promise<T | undefined> {
    return this.client.find<T>(resource, { namespace, name });
  }

  async list<T extends KubeObject = KubeObject>(
    resource: Resource,
    namespace: string,
    labelSelector?: string,
  ): Promise<T[]> {
    return (await this.client.list<T>(resource, { namespace, labelSelector })).items;
  }

  async status(namespace: string, name: string): Promise<Status> {
    const live = await this.find(BERTH_RESOURCES.ModelDeployment, namespace, name);
    return { conditions: [], ...((live?.status as object | undefined) ?? {}) } as Status;
  }

  async condition(namespace: string, name: string, type: string) {
    return (await this.status(namespace, name)).conditions.find((condition) => condition.type === type);
  }

  /** As the Deployment controller reports that it has seen the latest spec. */
  async setDeploymentStatus(
    namespace: string,
    name: string,
    change: Partial<DeploymentStatus> = {},
  ): Promise<void> {
    const live = await this.client.get<Wire<V1Deployment>>(RESOURCES.Deployment, { namespace, name });
    const replicas = live.spec?.replicas ?? 0;
    const status = {
      observedGeneration: live.metadata.generation,
      replicas,
      updatedReplicas: replicas,
      ...change,
    };
    await this.patchStatus(RESOURCES.Deployment, namespace, name, status);
  }

  /** Makes a pod of a deployment, on a node, so that deleting it leaves it terminating. */
  async makePod(
    namespace: string,
    name: string,
    status: V1PodStatus = {},
    node: string | null = 'node-1',
  ): Promise<string> {
    const live = await this.client.get<Wire<V1Deployment>>(RESOURCES.Deployment, { namespace, name });
    const pod = `${name}-${randomBytes(3).toString('hex')}`;
    await this.client.create(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: pod, namespace, labels: live.spec!.template.metadata!.labels },
      spec: {
        ...(node ? { nodeName: node } : {}),
        terminationGracePeriodSeconds: 60,
        containers: [{ name: 'engine', image: 'engine:1' }],
      },
    });
    await this.setPod(namespace, pod, status);
    return pod;
  }

  async setPod(namespace: string, pod: string, status: V1PodStatus): Promise<void> {
    await this.patchStatus(RESOURCES.Pod, namespace, pod, status);
  }

  /** A pod with a deployment's status as it is once all is well. */
  async makeReadyPod(namespace: string, name: string, podIP = '10.1.0.1'): Promise<string> {
    const pod = await this.makePod(namespace, name, readyStatus(podIP));
    await this.setDeploymentStatus(namespace, name);
    return pod;
  }

  /** Deletes as `kubectl delete pod` does: on a node, it stays until its grace has passed. */
  deletePod(namespace: string, pod: string): Promise<void> {
    return this.client.delete(RESOURCES.Pod, { namespace, name: pod });
  }

  /** As the kubelet does at the end: the pod is gone. */
  async removePod(namespace: string, pod: string): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}`;
    await this.#request('DELETE', path, { gracePeriodSeconds: 0 });
    await pollUntil(async () => (await this.find(RESOURCES.Pod, namespace, pod)) === undefined);
  }

  /** The fronts as the EndpointSlice controller would list them. */
  async setFronts(addresses: readonly string[]): Promise<void> {
    await this.client.apply(
      RESOURCES.EndpointSlice,
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: `${FRONT_SERVICE}-1`,
          namespace: SYSTEM_NAMESPACE,
          labels: { 'kubernetes.io/service-name': FRONT_SERVICE },
        },
        addressType: 'IPv4',
        endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      },
      { fieldManager: 'test', force: true },
    );
  }

  /** Addresses of the fronts that serve in a deployment's place; undefined while they only stand by. */
  async frontAddresses(namespace: string, name: string): Promise<string[] | undefined> {
    const endpoints = await this.#frontEndpoints(namespace, name);
    if (endpoints?.some(({ conditions }) => !conditions.ready)) return undefined;
    return endpoints?.flatMap(({ addresses }) => addresses);
  }

  /** Addresses of the fronts that stand by for a deployment whose pods are ready. */
  async standbyAddresses(namespace: string, name: string): Promise<string[]> {
    const endpoints = (await this.#frontEndpoints(namespace, name)) ?? [];
    const isStandby = ({ ready, serving, terminating }: EndpointConditions) =>
      !ready && serving && terminating;
    return endpoints.filter(({ conditions }) => isStandby(conditions)).flatMap(({ addresses }) => addresses);
  }

  async #frontEndpoints(namespace: string, name: string) {
    const slice = await this.find(RESOURCES.EndpointSlice, namespace, `${name}-front`);
    return (slice?.endpoints ?? undefined) as
      | { addresses: string[]; conditions: EndpointConditions }[]
      | undefined;
  }

  /** Reasons of the events on an object. */
  async events(namespace: string, name: string): Promise<string[]> {
    return (await this.#listEvents(namespace, name)).map(({ reason }) => reason ?? '');
  }

  /** Messages of the events with a reason on an object. */
  async eventNotes(namespace: string, name: string, wanted: string): Promise<string[]> {
    const events = await this.#listEvents(namespace, name);
    return events.filter(({ reason }) => reason === wanted).map(({ note }) => note ?? '');
  }

  async #listEvents(namespace: string, name: string): Promise<Event[]> {
    const events = await this.list<Event>(RESOURCES.Event, namespace);
    return events.filter(({ regarding }) => regarding?.name === name);
  }

  /** What `kubectl get` shows of a ModelDeployment, by column. */
  async columns(namespace: string, name: string): Promise<Record<string, unknown>> {
    const path = `/apis/${API_VERSION}/namespaces/${namespace}/modeldeployments/${name}`;
    const { body } = await this.#request('GET', path, undefined, TABLE);
    const names = (body.columnDefinitions as { name: string }[]).map((column) => column.name);
    return Object.fromEntries(names.map((column, index) => [column, body.rows[0].cells[index]]));
  }

  async patchStatus(resource: Resource, namespace: string, name: string, status: object): Promise<void> {
    await this.client.mergePatch(resource, {
      at: { namespace, name, subresource: 'status' },
      patch: { status },
    });
  }
}

export const readyStatus = (podIP: string): V1PodStatus => ({
  phase: 'Running',
  podIP,
  podIPs: [{ ip: podIP }],
  conditions: [
    { type: 'PodScheduled', status: 'True' },
    // Long ago, so that nothing waits for proxies to follow.
    { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' as unknown as Date },
  ],
  containerStatuses: [
    {
      name: 'engine',
      image: 'engine:1',
      imageID: 'sha256:1',
      ready: true,
      restartCount: 0,
      state: { running: {} },
    },
  ],
});
