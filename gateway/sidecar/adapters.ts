/** The LoRA adapters of a deployment, as its configuration lists them: an endpoint each, and one loader. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Heartbeat } from '../../api/redis-keys.ts';
import {
  type AdapterEndpoint,
  type BaseParts,
  type ServedAdapter,
  startAdapterEndpoint,
} from './adapter-endpoint.ts';
import { AdapterLoader } from './adapter-loader.ts';
import type { LiveConfig } from './live-config.ts';

export interface AdaptersOptions extends Omit<BaseParts, 'onRefusal'> {
  live: Pick<LiveConfig, 'current' | 'onChange'>;
}

export interface Adapters {
  /** Whether the engine has just started, and has not yet loaded or refused each of them. */
  isStarting(): boolean;
  refreshLimits(): void;
  stop(): Promise<void>;
}

/** A port may be in use for a moment. */
const REOPEN_MS = 5_000;

export function serveAdapters({ live, ...base }: AdaptersOptions): Adapters {
  const { engine, telemetry, meter } = base;
  const { log } = telemetry;
  const served = new Map<string, Entry>();
  /** One step at a time for each name. */
  const turns = new Map<string, Promise<void>>();
  /** Removed, with requests in flight. */
  const ending = new Set<Promise<void>>();
  let isStopped = false;
  const each = (call: (endpoint: AdapterEndpoint) => void) => {
    for (const { endpoint } of served.values()) if (endpoint) call(endpoint);
  };
  const announce = () => each((endpoint) => endpoint.announce());
  const loader = new AdapterLoader({
    pool: engine.unwatchedPool,
    isEngineReady: engine.isReady,
    list: () =>
      (live.current.adapters ?? []).map(({ name, servedModelName, adapter }) => ({
        name,
        engineName: servedModelName,
        path: adapter!.path,
      })),
    onChange: announce,
    log,
  });
  const inTurn = (name: string, work: () => Promise<void>) => {
    const turn = (turns.get(name) ?? Promise.resolve()).then(work);
    turns.set(name, turn);
    void turn.then(() => {
      if (turns.get(name) === turn) turns.delete(name);
    });
  };
  const open = async (entry: Entry) => {
    const { name } = entry.wanted;
    if (served.get(name) !== entry || isStopped) return;
    try {
      const parts = { ...base, onRefusal: () => void loader.sync() };
      entry.endpoint = await startAdapterEndpoint(entry, parts);
    } catch (error) {
      log.error({ err: error, adapter: name }, 'the adapter cannot be served yet');
      setTimeout(() => inTurn(name, () => open(entry)), REOPEN_MS).unref();
    }
  };
  const remove = async (entry: Entry) => {
    const { namespace, name } = entry.wanted;
    const removal = entry.endpoint?.remove();
    if (!removal) return;
    const end = removal.ended
      .catch((error) => log.error({ err: error, adapter: name }, 'the adapter did not end cleanly'))
      .then(() => {
        ending.delete(end);
        if (!served.has(name)) meter.leave(namespace, name);
      });
    ending.add(end);
    await removal.left;
  };
  const apply = ({ adapters = [] }: Pick<GatewayConfig, 'adapters'>) => {
    const names = new Set(adapters.map(({ name }) => name));
    for (const [name, entry] of served) {
      if (names.has(name)) continue;
      served.delete(name);
      inTurn(name, () => remove(entry));
    }
    for (const config of adapters) {
      const known = served.get(config.name);
      if (known) known.wanted = config;
      else {
        const entry = new Entry(config, loader);
        served.set(config.name, entry);
        inTurn(config.name, () => open(entry));
      }
    }
    announce();
    void loader.sync();
  };
  apply(live.current);
  const unsubscribe = live.onChange(apply);
  engine.onPhaseChange((now, before) => {
    if (!now.isReady) loader.forget();
    else if (!before.isReady) loader.start();
  });
  base.drain.onChange(announce);
  base.connection.onStateChange((state) => {
    if (state === 'up') announce();
  });
  return {
    isStarting: () => loader.isStarting,
    refreshLimits: () => each((endpoint) => endpoint.refreshLimits()),
    stop: async () => {
      isStopped = true;
      unsubscribe();
      loader.stop();
      await Promise.all(turns.values());
      await Promise.all([...ending, ...[...served.values()].map(({ endpoint }) => endpoint?.stop())]);
    },
  };
}

/** One adapter here, by the name that its engine has. */
export class Entry implements ServedAdapter {
  /** As published. */
  wanted: GatewayConfig;
  endpoint: AdapterEndpoint | undefined;
  readonly #loader: Pick<AdapterLoader, 'loadedNameOf' | 'isLoaded' | 'failureOf'>;
  /** `wanted` with the name by which the engine has it. */
  #config: GatewayConfig;
  #source: GatewayConfig;
  /** The engines' names of it at ready peers. */
  #atPeers: readonly string[] = [];

  constructor(wanted: GatewayConfig, loader: Pick<AdapterLoader, 'loadedNameOf' | 'isLoaded' | 'failureOf'>) {
    this.wanted = wanted;
    this.#config = wanted;
    this.#source = wanted;
    this.#loader = loader;
  }

  /** Built again only when something changes: it is read many times a request. */
  config = (): GatewayConfig => {
    const { name } = this.wanted;
    const loaded = this.#loader.loadedNameOf(name, this.wanted.servedModelName);
    const servedModelName = loaded ?? this.#nameAtPeers();
    if (this.#source !== this.wanted || this.#config.servedModelName !== servedModelName) {
      this.#source = this.wanted;
      this.#config = { ...this.wanted, servedModelName };
    }
    return this.#config;
  };

  /** Those that have none here are asked for what most of them have, the current source first. */
  notePeers = (peers: readonly Heartbeat[]): void => {
    const open = peers.filter(({ ready, draining }) => ready && !draining);
    this.#atPeers = open.flatMap(({ adapter }) => adapter ?? []);
  };

  #nameAtPeers(): string {
    const { servedModelName } = this.wanted;
    const names = this.#atPeers;
    if (names.length === 0 || names.includes(servedModelName)) return servedModelName;
    const count = (name: string) => names.filter((each) => each === name).length;
    return names.reduce((most, name) => (count(name) > count(most) ? name : most));
  }

  isLoaded = (): boolean => this.#loader.isLoaded(this.config().servedModelName);

  describe = () => {
    const adapterError = this.#loader.failureOf(this.wanted.servedModelName);
    return {
      ...(this.isLoaded() && { adapter: this.config().servedModelName }),
      ...(adapterError !== undefined && { adapterError }),
    };
  };
}
