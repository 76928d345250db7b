/** Probes and hooks, as the kubelet calls them. */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import type { PodAddress } from './pod-network.ts';
import type { Container, Probe } from './pod-spec.ts';

export interface ProbeTarget {
  container: Container;
  address: PodAddress;
  env: Record<string, string>;
}

type Action = Pick<Probe, 'httpGet' | 'tcpSocket' | 'exec'>;

/** One call; any error is a failure. */
async function callProbe(action: Action, target: ProbeTarget, timeoutMs: number): Promise<boolean> {
  const { httpGet, tcpSocket, exec } = action;
  if (httpGet) return callHTTP(httpGet, target, AbortSignal.timeout(timeoutMs));
  if (tcpSocket) return callTCP(target.address.ip, portOf(tcpSocket.port, target), timeoutMs);
  return exec ? callProgram(exec.command, target, timeoutMs) : true;
}

/** Resolves when the hook has ended in any way. */
export async function callHook(action: Action, target: ProbeTarget, signal: AbortSignal): Promise<void> {
  if (action.httpGet) await callHTTP(action.httpGet, target, signal);
  else if (action.exec) await callProgram(action.exec.command, target, HOOK_TIMEOUT_MS);
}

const HOOK_TIMEOUT_MS = 60_000;

async function callHTTP(
  { path = '/', port, scheme = 'HTTP', httpHeaders = [] }: NonNullable<Probe['httpGet']>,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<boolean> {
  const url = `${scheme.toLowerCase()}://${target.address.ip}:${portOf(port, target)}${path}`;
  const headers = new Headers(httpHeaders.map(({ name, value }) => [name, value]));
  headers.set('connection', 'close');
  try {
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    await response.body?.cancel();
    return response.status < 400;
  } catch {
    return false;
  }
}

/** Named ones are those of the container. */
function portOf(port: number | string, { container, address }: ProbeTarget): number {
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  return address.port(named ?? Number(port));
}

const callTCP = (host: string, port: number, timeoutMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });

const callProgram = (
  [command = '', ...args]: string[],
  { env }: ProbeTarget,
  timeoutMs: number,
): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: 'ignore',
      timeout: timeoutMs,
    });
    child.once('exit', (code) => resolve(code === 0));
    child.once('error', () => resolve(false));
  });

/** Until its first success, a probe is called more often than configured, to save time. */
const STARTING_PROBE_INTERVAL_MS = 100;

export interface ProbeLoopOptions {
  probe: Probe;
  target: ProbeTarget;
  signal: AbortSignal;
  /** Called with each result that reaches the probe's thresholds. */
  onOutcome: (isSuccess: boolean) => void;
  /** Ends with the first success. */
  untilSuccess?: boolean;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Calls a probe until the signal; stops after the first success if requested. */
export async function runProbe(options: ProbeLoopOptions): Promise<void> {
  const { probe, target, signal, onOutcome, untilSuccess = false, sleep } = options;
  const periodMs = (probe.periodSeconds ?? 10) * 1_000;
  const failureThreshold = probe.failureThreshold ?? 3;
  let failedSince: number | undefined;
  let hasSucceeded = false;
  if (probe.initialDelaySeconds) await sleep(probe.initialDelaySeconds * 1_000, signal);
  while (!signal.aborted) {
    const isSuccess = await callProbe(probe, target, (probe.timeoutSeconds ?? 1) * 1_000);
    if (signal.aborted) return;
    if (isSuccess) {
      failedSince = undefined;
      hasSucceeded = true;
      onOutcome(true);
      if (untilSuccess) return;
    } else {
      failedSince ??= performance.now();
      // Measured in the probe's periods, however often it was called.
      if (performance.now() - failedSince >= (failureThreshold - 1) * periodMs) onOutcome(false);
    }
    await sleep(hasSucceeded ? periodMs : Math.min(periodMs, STARTING_PROBE_INTERVAL_MS), signal);
  }
}
