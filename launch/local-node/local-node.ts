/** The only node of `make run`: runs every pod's containers as processes of this machine. */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryApi } from '../../kube/memory/memory-api.ts';
import { StatusError } from '../../kube/memory/status-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../kube/time.ts';
import { removeLogs, sendLogs } from './container-logs.ts';
import { ContainerProcesses } from './container-process.ts';
import { decideNetworkMode, type NetworkMode, type PodAddress, PodNetwork } from './pod-network.ts';
import { NODE_NAME, PodRunner, type PodRunnerOptions } from './pod-runner.ts';
import type { Pod } from './pod-spec.ts';

export interface LocalNodeOptions {
  api: MemoryApi;
  folder: string;
  logFolder: string;
  /** First port of this instance alone. */
  basePort: number;
  networkMode?: NetworkMode;
  path?: string;
}

const MANAGER = 'kubelet';
const CLOSE_GRACE_MS = 3_000;
/** Then the processes are killed, whatever their grace period. */
const MAX_CLOSE_MS = 10_000;
/** Retry interval: addresses become free as pods end. */
const RETRY_MS = 3_000;

export class LocalNode {
  readonly #options: PodRunnerOptions;
  readonly #runners = new Map<string, PodRunner>();
  readonly #stopping = new Map<string, Promise<void>>();
  readonly #stopListening: () => void;
  #isClosing = false;

  constructor({
    api,
    folder,
    logFolder,
    basePort,
    networkMode,
    path = process.env.PATH ?? '',
  }: LocalNodeOptions) {
    const network = new PodNetwork({ mode: networkMode ?? decideNetworkMode(), basePort });
    const processes = new ContainerProcesses(logFolder);
    processes.warm();
    removeLogs(logFolder);
    this.#options = { api, processes, network, folder, logFolder, path };
    if (!api.find('nodes', { name: NODE_NAME })) api.create('nodes', describeNode(), { manager: MANAGER });
    this.#stopListening = api.store.listen(({ key, type, object }) => {
      if (key === 'pods')
        setImmediate(() => (type === 'DELETED' ? this.#forget(object) : this.#sync(object)));
    });
  }

  /** The address of a running pod. */
  addressOf(uid: string): PodAddress | undefined {
    return this.#runners.get(uid)?.address;
  }

  readLogs = (pod: KubeObject, query: URLSearchParams, res: ServerResponse): void =>
    sendLogs(this.#options.logFolder, pod as Pod, query, res);

  /** Terminates all pods quickly. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#stopListening();
    const stopped = Promise.all([...this.#runners.values()].map((runner) => runner.stop(CLOSE_GRACE_MS)));
    await Promise.race([stopped.catch(logFailure), delay(MAX_CLOSE_MS)]);
    await this.#options.processes.close();
  }

  #sync(changed: KubeObject): void {
    if (this.#isClosing) return;
    const { api } = this.#options;
    const at = { namespace: changed.metadata.namespace, name: changed.metadata.name };
    const pod = api.find('pods', at) as Pod | undefined;
    if (!pod || pod.metadata.uid !== changed.metadata.uid) return;
    const uid = pod.metadata.uid!;
    if (pod.metadata.deletionTimestamp) {
      const { deletionGracePeriodSeconds = 0 } = pod.metadata;
      if (!this.#stopping.has(uid))
        this.#stopping.set(uid, this.#end(pod, deletionGracePeriodSeconds * 1_000));
    } else if (!pod.spec.nodeName) {
      api.patch('pods', at, { spec: { nodeName: NODE_NAME } }, { type: 'merge', manager: 'kube-scheduler' });
    } else if (!this.#runners.has(uid)) {
      const runner = new PodRunner(this.#options, pod);
      this.#runners.set(uid, runner);
      runner.start().catch((error: Error) => this.#onFailed(runner, error));
    }
  }

  /** A pod without an address waits for one, as where no node has room. */
  #onFailed(runner: PodRunner, { message }: Error): void {
    const { api } = this.#options;
    const { namespace, name, uid } = runner.pod.metadata;
    const live = api.find('pods', { namespace, name });
    if (live?.metadata.uid !== uid) return;
    const lastTransitionTime = formatTime(new Date());
    const condition = { type: 'PodScheduled', status: 'False', reason: 'FailedScheduling', message };
    const status = { phase: 'Pending', conditions: [{ ...condition, lastTransitionTime }] };
    api.patch(
      'pods',
      { namespace, name },
      { status },
      { type: 'merge', subresource: 'status', manager: MANAGER },
    );
    if (runner.address) return;
    const retry = () => {
      if (this.#runners.get(uid!) !== runner) return;
      this.#runners.delete(uid!);
      this.#sync(runner.pod);
    };
    setTimeout(retry, RETRY_MS).unref();
  }

  async #end({ metadata }: Pod, graceMs: number): Promise<void> {
    const { api } = this.#options;
    await this.#runners.get(metadata.uid!)?.stop(graceMs).catch(logFailure);
    this.#runners.delete(metadata.uid!);
    try {
      api.delete('pods', metadata, { uid: metadata.uid, graceSeconds: 0 });
    } catch (error) {
      // Force-deleted in between.
      if (!(error instanceof StatusError)) throw error;
    }
    this.#stopping.delete(metadata.uid!);
  }

  /** Deleted without waiting. */
  #forget({ metadata }: KubeObject): void {
    const runner = this.#runners.get(metadata.uid!);
    this.#runners.delete(metadata.uid!);
    runner?.stop(0).catch(logFailure);
  }
}

const logFailure = (error: Error) => console.error(`a pod did not stop cleanly: ${error.message}`);

const describeNode = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: NODE_NAME, labels: { 'kubernetes.io/hostname': NODE_NAME } },
  spec: {},
});
