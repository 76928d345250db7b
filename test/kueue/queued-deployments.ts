/** Deployments in the queue of `manifests/queues.yaml`, and what is said of them. */
import type { V1Pod, V1Secret } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { Condition } from '../../api/kubernetes-types.ts';
import { KUEUE, LABELS } from '../../api/names.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import type { Cluster } from '../integration/operator/cluster-player.ts';
import { readError } from '../support/chat.ts';
import type { FrontProcess } from '../support/front-process.ts';
import { fetchByHost } from '../support/host-fetch.ts';
import { pollUntil } from '../support/poll.ts';
import { KUEUE_RESOURCES } from './kueue-resources.ts';

/** The one that Kueue looks after. */
const NAMESPACE = 'default';
const KEY = 'key';
export const QUEUE = 'gpus';
/** The operator reads Kueue's words every 30 s. */
const WAIT_MS = 240_000;
const POLL_MS = 250;

export class QueuedDeployments {
  readonly #cluster: Cluster;
  readonly #front: FrontProcess;

  constructor(cluster: Cluster, front: FrontProcess) {
    this.#cluster = cluster;
    this.#front = front;
  }

  createKey = () => this.#cluster.create(BERTH_RESOURCES.APIKey, { namespace: NAMESPACE, name: KEY }, {});

  /** A deployment with a GPU for each replica, in the queue. `labels`: further ones, or another queue. */
  create = (name: string, spec: object = {}, labels: Record<string, string> = {}): Promise<void> =>
    this.createUnqueued(name, spec, { [KUEUE.queue]: QUEUE, ...labels });

  async createUnqueued(name: string, spec: object, labels: Record<string, string> = {}): Promise<void> {
    const { apiVersion, kind } = BERTH_RESOURCES.ModelDeployment;
    const base = { kind: 'LLM', model: { id: name }, engine: { preset: 'simulator' }, gpu: { count: 1 } };
    await this.#cluster.client.create(BERTH_RESOURCES.ModelDeployment, {
      apiVersion,
      kind,
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { ...base, ...spec },
    });
  }

  /** A LocalQueue of the same ClusterQueue. */
  createQueue = (name: string) =>
    this.#cluster.create(KUEUE_RESOURCES.LocalQueue, { namespace: NAMESPACE, name }, { clusterQueue: QUEUE });

  change = (name: string, spec: object) => this.#cluster.change(NAMESPACE, name, spec);

  delete = (name: string) => this.#cluster.delete(BERTH_RESOURCES.ModelDeployment, NAMESPACE, name);

  status = (name: string) => this.#cluster.status(NAMESPACE, name);

  condition = (name: string, type: string) => this.#cluster.condition(NAMESPACE, name, type);

  events = (name: string) => this.#cluster.events(NAMESPACE, name);

  eventNotes = (name: string, reason: string) => this.#cluster.eventNotes(NAMESPACE, name, reason);

  pods = (name: string) =>
    this.#cluster.list<Wire<V1Pod>>(RESOURCES.Pod, NAMESPACE, `${LABELS.deployment}=${name}`);

  async podNames(name: string): Promise<string[]> {
    return (await this.pods(name)).map(({ metadata }) => metadata.name);
  }

  /** Resolves with `GPUsAvailable` once it has the reason, and a message that matches. */
  async untilGPUs(name: string, reason: string, message = /./): Promise<Condition> {
    let last: Condition | undefined;
    await until(`${reason} of ${name}`, async () => {
      last = await this.condition(name, 'GPUsAvailable');
      return last?.reason === reason && message.test(last.message);
    }).catch((error: Error) => {
      throw new Error(`${error.message}; GPUsAvailable is ${JSON.stringify(last)}`);
    });
    return last!;
  }

  untilReady = (name: string): Promise<void> =>
    until(`${name} to be ready`, async () => (await this.condition(name, 'Ready'))?.status === 'True');

  untilNoPods = (...names: string[]): Promise<void> =>
    until(`the end of the pods of ${names}`, async () =>
      (await Promise.all(names.map(this.pods))).every((pods) => pods.length === 0),
    );

  untilNoWorkloads = (): Promise<void> =>
    until('the end of all Workloads', async () => {
      const workloads = await this.#cluster.list(KUEUE_RESOURCES.Workload, NAMESPACE);
      return workloads.length === 0;
    });

  /** Resolves once the front says that it waits in a queue, and when to come back. */
  async untilQueueAnswer(name: string): Promise<void> {
    let last: unknown;
    await until(`the front to say that ${name} waits in a queue`, async () => {
      const error = await this.#ask(name);
      last = error;
      const { status, code, message, retryAfter } = error;
      const isRefused = status === 503 && code === 'no_pod_available' && retryAfter === '60';
      return isRefused && /it waits for GPUs in a queue of the cluster/.test(message);
    }).catch((error: Error) => {
      throw new Error(`${error.message}; it says ${JSON.stringify(last)}`);
    });
  }

  /** Nothing says that the cluster lacks GPUs: only the quota of a queue was full. */
  async expectNoShortage(name: string): Promise<void> {
    const events = await this.events(name);
    for (const reason of ['InsufficientGPUs', 'GPUsShort']) expect(events).to.not.include(reason);
    expect((await this.status(name)).scaling?.short ?? false).to.equal(false);
  }

  async #ask(name: string) {
    const { data } = await this.#cluster.client.get<Wire<V1Secret>>(RESOURCES.Secret, {
      namespace: NAMESPACE,
      name: `${KEY}-api-key`,
    });
    const key = Buffer.from(data!['api-key']!, 'base64').toString();
    const { host } = new URL((await this.status(name)).url!);
    const answer = await fetchByHost(`${this.#front.origin}/v1/chat/completions`, host, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    return readError(answer);
  }
}

export const until = (what: string, isMet: () => Promise<boolean>): Promise<void> =>
  pollUntil(isMet, what, WAIT_MS, POLL_MS);
