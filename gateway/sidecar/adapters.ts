/** The LoRA adapters of a deployment, as its configuration lists them: an endpoint each, and one loader. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type AdapterEndpoint, type BaseParts, startAdapterEndpoint } from './adapter-endpoint.ts';
import { AdapterLoader } from './adapter-loader.ts';
import type { LiveConfig } from './live-config.ts';

export interface AdaptersOptions extends Omit<BaseParts, 'loader'> {
  live: Pick<LiveConfig, 'current' | 'onChange'>;
}

export interface Adapters {
  refreshLimits(): void;
  stop(): Promise<void>;
}

interface Served {
  config: GatewayConfig;
  /** Undefined: its port could not be opened. */
  endpoint: Promise<AdapterEndpoint | undefined>;
}

export function serveAdapters({ live, ...base }: AdaptersOptions): Adapters {
  const { engine, telemetry } = base;
  const { log } = telemetry;
  const served = new Map<string, Served>();
  const each = (call: (endpoint: AdapterEndpoint) => void) => {
    for (const { endpoint } of served.values()) void endpoint.then((open) => open && call(open));
  };
  const announce = () => each((endpoint) => endpoint.announce());
  const loader = new AdapterLoader({
    pool: engine.unwatchedPool,
    isEngineReady: engine.isReady,
    list: () =>
      (live.current.adapters ?? []).map(({ servedModelName, adapter }) => ({
        engineName: servedModelName,
        path: adapter!.path,
      })),
    onChange: announce,
    log,
  });
  const start = (config: GatewayConfig) => {
    const entry: Served = { config, endpoint: Promise.resolve(undefined) };
    entry.endpoint = startAdapterEndpoint(() => entry.config, { ...base, loader }).catch((error) => {
      log.error({ err: error, adapter: config.name }, 'the adapter cannot be served');
      return undefined;
    });
    served.set(config.name, entry);
  };
  const stop = async (name: string) => {
    const endpoint = served.get(name)?.endpoint;
    served.delete(name);
    await (await endpoint)?.stop();
  };
  const apply = ({ adapters = [] }: Pick<GatewayConfig, 'adapters'>) => {
    const names = new Set(adapters.map(({ name }) => name));
    for (const name of served.keys()) if (!names.has(name)) void stop(name);
    for (const config of adapters) {
      const known = served.get(config.name);
      if (known) known.config = config;
      else start(config);
    }
    announce();
    void loader.sync();
  };
  apply(live.current);
  live.onChange(apply);
  engine.onPhaseChange((now, before) => {
    if (!now.isReady) loader.forget();
    else if (!before.isReady) void loader.sync();
  });
  base.drain.onChange(announce);
  base.connection.onStateChange((state) => {
    if (state === 'up') announce();
  });
  return {
    refreshLimits: () => each((endpoint) => endpoint.refreshLimits()),
    stop: async () => {
      loader.stop();
      await Promise.all([...served.keys()].map(stop));
    },
  };
}
