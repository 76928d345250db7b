/** One pod: its volumes, address and containers, started and stopped in the kubelet's order. */
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { PORTS } from '../../api/names.ts';
import type { MemoryApi } from '../../kube/memory/memory-api.ts';
import { StatusError } from '../../kube/memory/status-error.ts';
import { formatTime } from '../../kube/time.ts';
import { logPathOf } from './container-logs.ts';
import type { ContainerProcesses } from './container-process.ts';
import { ContainerRunner, type PreparedContainer } from './container-runner.ts';
import { resolveProgram, type Translation, translateArgs, translateEnv } from './engine-programs.ts';
import { expand, readContainerEnv, removeVolumes, writeVolumes } from './pod-files.ts';
import type { PodAddress, PodNetwork } from './pod-network.ts';
import type { Container, Pod } from './pod-spec.ts';
import { buildPodStatus, type ContainerStatus, isSidecar, type PodCondition } from './pod-status.ts';

export interface PodRunnerOptions {
  api: MemoryApi;
  processes: ContainerProcesses;
  network: PodNetwork;
  /** The state folder. */
  folder: string;
  logFolder: string;
  /** For finding this machine's programs. */
  path: string;
}

/** The simulator's control port, which make run always opens. */
export const CONTROL_PORT = 9_100;
const NODE_MANAGER = 'kubelet';
export const NODE_NAME = 'local';

export class PodRunner {
  readonly pod: Pod;
  readonly #options: PodRunnerOptions;
  readonly #containers = new Map<string, ContainerRunner>();
  readonly #startedAt = formatTime(new Date());
  #address: PodAddress | undefined;
  #isStopping = false;
  #isStatusDue = false;

  constructor(options: PodRunnerOptions, pod: Pod) {
    this.#options = options;
    this.pod = pod;
  }

  get address(): PodAddress | undefined {
    return this.#address;
  }

  /** Resolves when all containers run, or the pod is being terminated. */
  async start(): Promise<void> {
    const { network } = this.#options;
    const { spec, metadata } = this.pod;
    this.#address = await network.attach(metadata.uid!, listPorts(this.pod));
    for (const container of spec.initContainers ?? []) {
      if (this.#isStopping) return;
      const runner = this.#add(container, !isSidecar(container));
      runner.run();
      await runner.started;
    }
    if (this.#isStopping) return;
    for (const container of spec.containers) this.#add(container, false).run();
  }

  /** Terminates its containers within the time, the engine before the gateway, then releases its resources. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const { network, folder } = this.#options;
    const deadline = graceMs > 0 ? AbortSignal.timeout(graceMs) : AbortSignal.abort();
    const { containers, initContainers = [] } = this.pod.spec;
    await Promise.all(containers.map(({ name }) => this.#containers.get(name)?.stop(deadline)));
    for (const { name } of initContainers.toReversed()) await this.#containers.get(name)?.stop(deadline);
    network.release(this.pod.metadata.uid!);
    removeVolumes(folder, this.pod);
  }

  #add(container: Container, isTask: boolean): ContainerRunner {
    const { processes, logFolder } = this.#options;
    const runner = new ContainerRunner({
      container,
      isTask,
      prepare: () => this.#prepare(container),
      processes,
      logPath: logPathOf(logFolder, this.pod, container.name),
      onChange: () => this.#writeStatusSoon(),
    });
    this.#containers.set(container.name, runner);
    return runner;
  }

  async #prepare(container: Container): Promise<PreparedContainer> {
    const { api, path, folder } = this.#options;
    const address = this.#address!;
    const volumes = writeVolumes({ api, folder }, this.pod);
    const paths = new Map(
      (container.volumeMounts ?? [])
        .filter(({ mountPath }) => mountPath !== '/tmp')
        .map(({ name, mountPath, subPath }) => [
          mountPath,
          [volumes.get(name) ?? mountPath, ...(subPath ? [subPath] : [])].join('/'),
        ]),
    );
    const translation: Translation = {
      paths,
      ip: address.ip,
      port: address.port,
      ports: listPorts(this.pod),
    };
    const given = readContainerEnv(api, this.pod, container, address.ip);
    const args = (container.args ?? []).map((word) => expand(word, given));
    const command = (container.command ?? []).map((word) => expand(word, given));
    const own = translateEnv(withoutOwnHome(given), translation);
    const machine = { path, env: own };
    const program = await resolveProgram(
      { ...container, command },
      translateArgs(args, translation),
      machine,
    );
    const env =
      program.kind === 'hosted'
        ? { ...translateEnv(given, translation), ...describeAddress(program.program, address) }
        : own;
    return { program, env, target: { container, address, env } };
  }

  /** Coalesces changes into one write. */
  #writeStatusSoon(): void {
    if (this.#isStatusDue) return;
    this.#isStatusDue = true;
    setImmediate(() => {
      this.#isStatusDue = false;
      this.#writeStatus();
    });
  }

  #writeStatus(): void {
    const { api } = this.#options;
    const at = { namespace: this.pod.metadata.namespace, name: this.pod.metadata.name };
    const live = api.find('pods', at);
    if (!live || live.metadata.uid !== this.pod.metadata.uid) return;
    const statuses = new Map<string, ContainerStatus>(
      [...this.#containers].map(([name, { status }]) => [name, status]),
    );
    const { conditions: before = [] } = (live.status ?? {}) as { conditions?: PodCondition[] };
    const facts = { spec: this.pod.spec, statuses, ip: this.#address!.ip, hostIP: '127.0.0.1' };
    const status = buildPodStatus({ ...facts, startedAt: this.#startedAt, before, now: new Date() });
    try {
      api.patch('pods', at, { status }, { type: 'merge', subresource: 'status', manager: NODE_MANAGER });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
    }
  }
}

/** The containers' declared ports. */
function listPorts({ spec }: Pod): number[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const named = containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
  const variables = containers.flatMap(({ env = [] }) => env);
  const engineURL = variables.find(({ name }) => name === GATEWAY_ENV.engineURL)?.value;
  const enginePort = engineURL === undefined ? [] : [Number(new URL(engineURL).port)];
  return [...new Set([...named, ...enginePort, CONTROL_PORT])];
}

/** In a pod these listen on all addresses, or not at all. */
const describeAddress = (
  program: 'gateway' | 'simulator',
  { ip, port }: PodAddress,
): Record<string, string> =>
  program === 'simulator'
    ? { SIMULATOR_CONTROL_HOST: ip, SIMULATOR_CONTROL_PORT: String(port(CONTROL_PORT)) }
    : {
        [GATEWAY_ENV.host]: ip,
        [GATEWAY_ENV.httpPort]: String(port(PORTS.http)),
        [GATEWAY_ENV.adminPort]: String(port(PORTS.admin)),
        [GATEWAY_ENV.metricsPort]: String(port(PORTS.metrics)),
      };

/** A program of this machine has this user's home, with the models that are in its caches already. */
function withoutOwnHome(env: Readonly<Record<string, string>>): Record<string, string> {
  const { HOME, USER: _, LOGNAME: __, ...rest } = env;
  if (HOME === undefined) return { ...env };
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => !value.startsWith(`${HOME}/`)));
}
