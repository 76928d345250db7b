/** Rolls out new sidecars without a change of specs (decision 0109): checks every few seconds what may start, and has the reconciler do it. */
import { ANNOTATIONS } from '../../api/names.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import type { ObjectName } from '../../kube/call.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventNote } from '../../kube/events.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ClusterView } from '../framework/cluster-view.ts';
import type { SidecarGrant } from '../resources/template-pin.ts';
import { type Candidate, type Decision, decideRollout, type StopRecord } from './decision.ts';
import { countErrors, type ErrorReader } from './error-counts.ts';
import { type RolloutProgress, readProgress } from './progress.ts';
import type { SidecarRolloutSettings } from './settings.ts';
import { readStopFile, type StopFile, writeStopFile } from './stop-file.ts';

const CHECK_INTERVAL_MS = 5_000;
/** What was started and shows in no Deployment after this will not: its spec cannot be applied. */
const GRANT_TIMEOUT_MS = 120_000;
const CHECK_TIMEOUT_MS = 30_000;

export interface SidecarRolloutOptions {
  client: Pick<KubeClient, 'find' | 'mergePatch'>;
  view: Pick<ClusterView, 'models' | 'deployments'>;
  /** Berth's own. */
  namespace: string;
  /** Undefined: nothing is rolled out, only counted. */
  settings: SidecarRolloutSettings | undefined;
  /** The operator's current sidecar. */
  sidecar: { revision: string; image: string };
  readErrors: ErrorReader;
  /** Requests a reconciliation, after all changes. */
  enqueue: (key: string) => void;
  record: (object: KubeObject, event: EventNote) => void;
  recordOnPod: (event: EventNote) => void;
  /** Unix milliseconds. */
  now: () => number;
  log: Log;
  intervalMs?: number | undefined;
}

export interface SidecarCounts {
  outdated: number;
  excluded: number;
  rolling: number;
  failed: number;
  isStopped: boolean;
}

export class SidecarRollout {
  readonly #options: SidecarRolloutOptions;
  /** Keys whose last reconcile found an outdated sidecar. */
  readonly #outdated = new Set<string>();
  readonly #grants = new Map<string, SidecarGrant>();
  /** Rollouts that were reported as failed, by key. */
  readonly #reported = new Map<string, number>();
  readonly #stopping = new AbortController();
  #task: PeriodicTask | undefined;
  #last: Pick<Decision, 'rolling' | 'failed' | 'stop'> = { rolling: [], failed: [], stop: undefined };

  constructor(options: SidecarRolloutOptions) {
    this.#options = options;
  }

  /** The rollout for the next build of a deployment's children, if it is its turn. */
  grantOf(key: string): SidecarGrant | undefined {
    return this.#grants.get(key);
  }

  /** Reports what a build found; one that cannot be applied is not outdated, since nothing can be done. */
  note(key: string, isOutdated: boolean): void {
    if (isOutdated) this.#outdated.add(key);
    else this.#outdated.delete(key);
  }

  delete(key: string): void {
    this.#outdated.delete(key);
    this.#grants.delete(key);
    this.#reported.delete(key);
  }

  /** Whether the installation rolls the deployment automatically. */
  includes({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
    const { settings } = this.#options;
    if (!settings || metadata.annotations?.[ANNOTATIONS.sidecarRollout] === 'disabled') return false;
    return settings.namespaces.length === 0 || settings.namespaces.includes(metadata.namespace!);
  }

  start(): void {
    const { settings, log, intervalMs = CHECK_INTERVAL_MS } = this.#options;
    if (!settings) return;
    this.#task = new PeriodicTask({
      run: () => this.check(),
      intervalMs,
      onError: (error) => {
        if (!this.#stopping.signal.aborted) log.warn({ err: error }, 'sidecar rollout check failed');
      },
    });
    this.#task.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#task?.stop();
  }

  /** For the metrics. */
  counts(): SidecarCounts {
    const { view } = this.#options;
    const isExcluded = (key: string) => {
      const model = view.models.get(key);
      return model !== undefined && !this.includes(model);
    };
    return {
      outdated: this.#outdated.size,
      excluded: [...this.#outdated].filter(isExcluded).length,
      rolling: this.#last.rolling.length,
      failed: this.#last.failed.length,
      isStopped: this.#last.stop !== undefined,
    };
  }

  /** One round: decides from the cluster and Redis, starts what may start, and records a stop. */
  async check(): Promise<void> {
    const { settings, sidecar, readErrors, now, log } = this.#options;
    if (!settings) return;
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]);
    const candidates = this.#listCandidates();
    if (!candidates.some(({ isOutdated, progress }) => isOutdated || this.#isRecent(progress)))
      return this.#settle({ rolling: [], failed: [], stop: undefined });
    const file = await this.#readFile(signal);
    const watched = candidates.filter(
      ({ progress }) =>
        progress.isComplete && progress.rolled?.revision === sidecar.revision && this.#isRecent(progress),
    );
    await countErrors(watched, { readErrors, observeMs: settings.stop.observeMs, now: now(), log });
    const decision = decideRollout({
      candidates,
      record: file?.record,
      revision: sidecar.revision,
      now: now(),
      settings,
    });
    this.#settle(decision);
    this.#reportFailures(decision);
    const isKnown = file?.record.isStopped && file.record.revision === sidecar.revision;
    if (decision.stop !== undefined && !isKnown) await this.#reportStop(decision.stop, file, signal);
    for (const key of decision.start) this.#start(key);
  }

  #settle({ rolling, failed, stop }: Pick<Decision, 'rolling' | 'failed' | 'stop'>): void {
    this.#last = { rolling, failed, stop };
  }

  #listCandidates(): Candidate[] {
    const { view, enqueue, now } = this.#options;
    return view.models.list().flatMap((model) => {
      const key = `${model.metadata.namespace}/${model.metadata.name}`;
      const deployment = view.deployments.get(key);
      if (!deployment || model.metadata.deletionTimestamp !== undefined || !this.includes(model)) return [];
      const progress = readProgress(deployment);
      const grant = this.#grants.get(key);
      const isShown = progress.rolled?.startedAt === grant?.startedAt;
      const isExpired = grant && now() - grant.startedAt > GRANT_TIMEOUT_MS;
      if (!grant || isShown || isExpired) {
        this.#grants.delete(key);
        // The next reconcile decides whether it is still outdated.
        if (isExpired && !isShown) enqueue(key);
        return [{ key, isOutdated: this.#outdated.has(key), progress }];
      }
      // Started, but the cache does not show it yet.
      return [{ key, isOutdated: false, progress: { ...progress, rolled: grant, isObserved: false } }];
    });
  }

  /** Its outcome may still count, or is unknown: a rollout may take longer than outcomes count. */
  #isRecent({ rolled, isComplete, progressedAt }: RolloutProgress): boolean {
    const { settings, now } = this.#options;
    if (rolled === undefined) return false;
    const { periodMs, observeMs } = settings!.stop;
    return !isComplete || now() - Math.max(rolled.startedAt, progressedAt) < periodMs + observeMs;
  }

  /** After writing back a requested resume, or a stop that became void. */
  async #readFile(signal: AbortSignal): Promise<StopFile | undefined> {
    const { client, sidecar, now, log } = this.#options;
    const file = await readStopFile(client, this.#fileName(), signal);
    if (!file) return undefined;
    const isOther = file.record.isStopped && file.record.revision !== sidecar.revision;
    if (!file.isResumeWanted && !isOther) return file;
    const resumedAt = file.isResumeWanted ? now() : file.record.resumedAt;
    const record: StopRecord = { isStopped: false, revision: sidecar.revision, reason: '', resumedAt };
    await writeStopFile(client, this.#fileName(), { record, now: now(), signal });
    log.info({ revision: sidecar.revision }, 'sidecar rollout resumed');
    this.#notify(file, {
      type: 'Normal',
      reason: 'SidecarRolloutResumed',
      note: 'sidecar rollout resumed',
    });
    return { ...file, record };
  }

  async #reportStop(reason: string, file: StopFile | undefined, signal: AbortSignal): Promise<void> {
    const { client, sidecar, now, log } = this.#options;
    log.warn({ revision: sidecar.revision, image: sidecar.image, reason }, 'sidecar rollout stopped');
    const resumedAt = file?.record.resumedAt ?? 0;
    const record = { isStopped: true, revision: sidecar.revision, reason, resumedAt };
    await writeStopFile(client, this.#fileName(), { record, now: now(), signal });
    this.#notify(file, { type: 'Warning', reason: 'SidecarRolloutStopped', note: reason });
  }

  #reportFailures({ failed }: Decision): void {
    const { view, record } = this.#options;
    for (const { key, failure } of failed) {
      const model = view.models.get(key);
      const startedAt = readProgress(view.deployments.get(key)!).rolled?.startedAt ?? 0;
      if (!model || this.#reported.get(key) === startedAt) continue;
      this.#reported.set(key, startedAt);
      record(model, { type: 'Warning', reason: 'SidecarRolloutFailed', note: failure! });
    }
  }

  #start(key: string): void {
    const { view, sidecar, enqueue, record, now, log } = this.#options;
    this.#grants.set(key, { revision: sidecar.revision, startedAt: now() });
    const note = `rolling out sidecar ${sidecar.image}, revision ${sidecar.revision}`;
    record(view.models.get(key)!, { type: 'Normal', reason: 'SidecarRollout', note });
    log.info({ key, revision: sidecar.revision }, 'sidecar rollout started');
    enqueue(key);
  }

  /** For the administrators of Berth. */
  #notify(file: StopFile | undefined, event: EventNote): void {
    if (file) this.#options.record(file.object, event);
    this.#options.recordOnPod(event);
  }

  #fileName = (): ObjectName => ({
    name: this.#options.settings!.configMap,
    namespace: this.#options.namespace,
  });
}
