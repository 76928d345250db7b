/** One container of a pod: starts, probes and restarts it. */
import { setTimeout as delay } from 'node:timers/promises';
import { formatTime } from '../../kube/time.ts';
import { readTail, sizeOf } from './container-logs.ts';
import type { ContainerProcess, ContainerProcesses, StartOptions } from './container-process.ts';
import type { Program } from './engine-programs.ts';
import { ConfigError } from './pod-files.ts';
import type { Container } from './pod-spec.ts';
import { type ContainerStatus, type Terminated, waitingFor } from './pod-status.ts';
import { callHook, type ProbeTarget, runProbe } from './probes.ts';

export interface PreparedContainer {
  program: Program;
  env: Record<string, string>;
  target: ProbeTarget;
}

export interface ContainerOptions {
  container: Container;
  /** An init container that runs to completion. */
  isTask: boolean;
  /** Reads Secrets and the like. Throws ConfigError. */
  prepare: () => Promise<PreparedContainer>;
  processes: Pick<ContainerProcesses, 'start'>;
  logPath: string;
  onChange: () => void;
  /** The first backoff of a crashing container; it doubles each time. */
  backoffMs?: number;
}

const MAX_BACKOFF_MS = 300_000;
/** After running this long, a crash counts as the first one. */
const STEADY_MS = 600_000;
/** What is missing may be installed meanwhile. */
const RETRY_INTERVAL_MS = 3_000;
/** As the kubelet, which also keeps 2,048 bytes at most, too few for a traceback of vLLM with its cause. */
const LOG_LINES = 80;
const PROBE_GRACE_MS = 30_000;

export class ContainerRunner {
  status: ContainerStatus;
  readonly #options: ContainerOptions;
  readonly #stopping = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<void>();
  #process: ContainerProcess | undefined;
  #target: ProbeTarget | undefined;
  #isRunning = false;

  constructor(options: ContainerOptions) {
    this.#options = options;
    this.status = waitingFor(options.container.name, 'ContainerCreating');
  }

  /** Resolves once its startup probe has succeeded; for a task, once it has succeeded. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  run(): void {
    this.#isRunning = true;
    this.#loop()
      .catch((error: Error) => this.#set(waitingFor(this.status.name, 'CreateContainerError', error.message)))
      .finally(() => this.#done.resolve());
  }

  /** Calls its preStop hook, terminates it, and kills it at the signal. */
  async stop(deadline: AbortSignal): Promise<void> {
    const { lifecycle } = this.#options.container;
    const isUp = 'running' in this.status.state;
    if (isUp && lifecycle?.preStop && this.#target) await callHook(lifecycle.preStop, this.#target, deadline);
    this.#stopping.abort();
    this.#process?.stop(deadline.aborted);
    const force = () => this.#process?.stop(true);
    deadline.addEventListener('abort', force, { once: true });
    if (this.#isRunning) await this.#done.promise;
    deadline.removeEventListener('abort', force);
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = 0;
    while (!signal.aborted) {
      const prepared = await this.#prepare();
      if (signal.aborted) return;
      if (!prepared) {
        await sleep(RETRY_INTERVAL_MS, signal);
        continue;
      }
      const began = performance.now();
      const ended = await this.#runOnce(prepared);
      const isDone = this.#options.isTask && ended.exitCode === 0;
      if (isDone || signal.aborted) {
        this.#set({ ...this.status, state: { terminated: ended }, ready: isDone, started: false });
        if (isDone) this.#started.resolve();
        return;
      }
      if (performance.now() - began > STEADY_MS) waitMs = 0;
      const crashed = { lastState: { terminated: ended }, ready: false, started: false };
      if (waitMs > 0) {
        const message = `back-off ${waitMs / 1_000}s restarting failed container=${this.status.name}`;
        this.#set({
          ...this.status,
          ...crashed,
          state: { waiting: { reason: 'CrashLoopBackOff', message } },
        });
        await sleep(waitMs, signal);
      } else this.#set({ ...this.status, ...crashed, state: { terminated: ended } });
      this.status = { ...this.status, restartCount: this.status.restartCount + 1 };
      waitMs = Math.min(MAX_BACKOFF_MS, waitMs * 2 || (this.#options.backoffMs ?? 10_000));
    }
  }

  async #prepare(): Promise<(PreparedContainer & Pick<StartOptions, 'program'>) | undefined> {
    try {
      const { program, ...rest } = await this.#options.prepare();
      if (program.kind !== 'missing') return { ...rest, program };
      this.#wait(program.reason, program.message);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#wait('CreateContainerConfigError', error.message);
    }
    return undefined;
  }

  #wait(reason: string, message: string): void {
    this.#set({ ...this.status, state: { waiting: { reason, message } }, ready: false, started: false });
  }

  async #runOnce({
    program,
    env,
    target,
  }: PreparedContainer & Pick<StartOptions, 'program'>): Promise<Terminated> {
    const { container, processes, logPath, isTask } = this.#options;
    const startedAt = formatTime(new Date());
    // Earlier runs have the same file.
    const logStart = sizeOf(logPath);
    this.#target = target;
    this.#process = processes.start({ program, env, logPath });
    if (this.#stopping.signal.aborted) this.#process.stop();
    const { startupProbe, readinessProbe } = container;
    const started = !startupProbe;
    const ready = started && !readinessProbe && !isTask;
    this.#set({ ...this.status, state: { running: { startedAt } }, started, ready });
    const alive = new AbortController();
    if (startupProbe) this.#probeStart(alive.signal, target);
    else this.#onStarted(alive.signal, target);
    const exitCode = await this.#process.ended;
    alive.abort();
    return {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      ...(exitCode === 0 ? {} : { message: readTail(logPath, LOG_LINES, logStart) }),
      startedAt,
      finishedAt: formatTime(new Date()),
    };
  }

  #probeStart(signal: AbortSignal, target: ProbeTarget): void {
    const onOutcome = (isSuccess: boolean) =>
      isSuccess ? this.#onStarted(signal, target) : this.#kill(signal);
    const probe = this.#options.container.startupProbe!;
    void runProbe({ probe, target, signal, onOutcome, untilSuccess: true, sleep });
  }

  #onStarted(signal: AbortSignal, target: ProbeTarget): void {
    const { readinessProbe, livenessProbe, ...container } = this.#options.container;
    if (container.startupProbe) this.#set({ ...this.status, started: true, ready: !readinessProbe });
    if (!this.#options.isTask) this.#started.resolve();
    if (readinessProbe) {
      const onOutcome = (ready: boolean) => this.#set({ ...this.status, ready });
      void runProbe({ probe: readinessProbe, target, signal, onOutcome, sleep });
    }
    if (livenessProbe) {
      const onOutcome = (isSuccess: boolean) => isSuccess || this.#kill(signal);
      void runProbe({ probe: livenessProbe, target, signal, onOutcome, sleep });
    }
  }

  /** Once per run. */
  #kill(alive: AbortSignal): void {
    this.#process?.stop();
    const timer = setTimeout(() => this.#process?.stop(true), PROBE_GRACE_MS);
    alive.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  #set(status: ContainerStatus): void {
    this.status = status;
    this.#options.onChange();
  }
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).then(
    () => {},
    () => {},
  );
