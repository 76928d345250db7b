/** A model's pod without Kubernetes: a simulator and a sidecar as processes, on a loopback address of their own. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { buildGatewayConfig } from '../../api/gateway-config.ts';
import { ADMIN_PATHS, GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { SIDECAR_SECRET_FILES } from '../../api/names.ts';
import { ensureGatewayBundle } from '../../tools/gateway-bundle.ts';
import { type ChildProgram, findFreePort, startProgram } from './child-program.ts';
import { pollUntil } from './poll.ts';

export const DRAIN_TOKEN = 'drain-token';
export const PEER_TOKEN = 'peer-token';
export const API_KEY = 'sk-test';

/** A deployment's configuration as the operator would publish it. */
export function describeModel(
  spec: Record<string, unknown> = {},
  metadata: { namespace?: string; name?: string } = {},
): GatewayConfig {
  const deployment = modelDeployment.parse({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { namespace: 'team', name: 'chat', ...metadata },
    spec: {
      kind: 'LLM',
      model: { id: 'berth/chat', source: { none: {} } },
      engine: { preset: 'simulator' },
      // Tests of full replicas expect an immediate refusal.
      limits: { waitForSlot: '0s' },
      // Tests follow the store's own links, whatever its address.
      storage: { links: 'Store' },
      ...spec,
    },
  });
  return buildGatewayConfig(deployment);
}

export interface Engine {
  program: ChildProgram;
  url: string;
  /** Changes settings through its control port. */
  control(settings: Record<string, unknown>): Promise<void>;
  /** To what it was when it started. */
  reset(): Promise<void>;
  read(): Promise<{
    inflight: number;
    requests: number;
    aborted: number;
    last: Record<string, unknown> | null;
    recent: { at: number; method: string; path: string; prompt?: string }[];
  }>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export async function startEngine(env: Record<string, string> = {}): Promise<Engine> {
  const program = startProgram('simulator/main.ts', {
    SIMULATOR_PORT: '0',
    SIMULATOR_CONTROL_PORT: '0',
    SIMULATOR_MODEL: 'berth/chat',
    ...env,
  });
  const [, url] = await program.waitFor(/engine of \S+ listening on (\S+)\n/);
  const [, controlURL] = await program.waitFor(/control port listening on (\S+)\n/);
  const call = async (method: string, body?: string) => {
    const response = await fetch(controlURL!, { method, body });
    if (!response.ok) throw new Error(`the control port answers ${response.status}`);
    return response.json();
  };
  return {
    program,
    url: url!,
    control: async (settings) => {
      await call('PUT', JSON.stringify(settings));
    },
    reset: async () => {
      await call('DELETE');
    },
    read: () => call('GET') as ReturnType<Engine['read']>,
    stop: (signal) => program.stop(signal),
  };
}

export interface ReplicaSettings {
  redisURL: string;
  engineURL: string;
  config?: GatewayConfig;
  /** Loopback address and name of the pod. */
  address: string;
  /** The same for all replicas of a front. */
  port: number;
  /** The fronts' storage service, with the workspace's token for it. */
  storage?: { url: string; token: string; requestPrefix: string };
  /** As a front derives it, if its requests are to be recognized. */
  peerToken?: string;
  /** The gateway's program; bundled by default. */
  script?: string;
  env?: Record<string, string>;
}

export interface ModelReplica {
  program: ChildProgram;
  /** With /v1. */
  url: string;
  origin: string;
  /** Calls the admin port. */
  admin(path: string, init?: RequestInit): Promise<Response>;
  /** Without the labels that all series have: its deployment and pod. */
  metrics(): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Resolves when the sidecar listens; the engine may be unavailable. */
export async function startReplica(settings: ReplicaSettings): Promise<ModelReplica> {
  const { address, port } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'berth-secret-'));
  const files = {
    [SIDECAR_SECRET_FILES.config]: JSON.stringify(settings.config ?? describeModel()),
    [SIDECAR_SECRET_FILES.peerToken]: settings.peerToken ?? PEER_TOKEN,
    ...(settings.storage && {
      [SIDECAR_SECRET_FILES.storageToken]: settings.storage.token,
      [SIDECAR_SECRET_FILES.requestPrefix]: settings.storage.requestPrefix,
    }),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const adminPort = await findFreePort([address]);
  const metricsPort = await findFreePort([address]);
  const program = startProgram(settings.script ?? (await ensureGatewayBundle()), {
    [GATEWAY_ENV.role]: 'sidecar',
    [GATEWAY_ENV.redisURL]: settings.redisURL,
    [GATEWAY_ENV.secretPath]: folder,
    [GATEWAY_ENV.engineURL]: settings.engineURL,
    [GATEWAY_ENV.drainToken]: DRAIN_TOKEN,
    [GATEWAY_ENV.podName]: `pod-${address}`,
    [GATEWAY_ENV.podIP]: address,
    [GATEWAY_ENV.host]: address,
    [GATEWAY_ENV.httpPort]: String(port),
    [GATEWAY_ENV.adminPort]: String(adminPort),
    [GATEWAY_ENV.metricsPort]: String(metricsPort),
    [GATEWAY_ENV.spoolPath]: join(folder, 'spool'),
    ...(settings.storage && { [GATEWAY_ENV.storageURL]: settings.storage.url }),
    ...settings.env,
  });
  const admin = (path: string, init?: RequestInit) => fetch(`http://${address}:${adminPort}${path}`, init);
  await waitForAnswer(program, () => admin(ADMIN_PATHS.startup));
  return {
    program,
    url: `http://${address}:${port}/v1`,
    origin: `http://${address}:${port}`,
    admin,
    metrics: async () =>
      withoutOwnLabels(await (await fetch(`http://${address}:${metricsPort}/metrics`)).text()),
    stop: async (signal) => {
      await program.stop(signal);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until a started program responds with 200. */
export async function waitForAnswer(program: ChildProgram, ask: () => Promise<Response>): Promise<void> {
  await pollUntil(
    () => {
      if (program.ended !== null) throw new Error(`it ended with ${program.ended}:\n${program.output}`);
      return ask().then(
        (response) => response.ok,
        () => false,
      );
    },
    'an answer of the program',
    60_000,
  );
}

const withoutOwnLabels = (text: string): string =>
  text.replaceAll(/,?namespace="[^"]*",deployment="[^"]*",pod="[^"]*"/g, '').replaceAll('{}', '');
