/** LoRA adapters: what they take from their base, and what its pods are started with for them. Pure. */
import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import { adapterPort } from '../../api/model-adapter.ts';
import type {
  ModelDeployment,
  ModelDeploymentSpec,
  ModelDeploymentStatus,
} from '../../api/model-deployment.ts';
import { CURRENT } from '../../api/weights-cache.ts';
import { readArgument } from '../engines/arguments.ts';
import { variables } from '../engines/engine.ts';
import { ADAPTER_VOLUME } from './pod-fields.ts';
import { cacheEntry } from './weights-cache.ts';

type Downloaded = NonNullable<ModelDeploymentStatus['adapter']>;

/** An adapter as its base's pods serve it: what was downloaded last, else what its spec asks for. */
export interface ServedAdapter {
  /** With what it takes from its base. */
  model: ModelDeployment;
  base: string;
  /** Where the base's gateways serve it. */
  port: number;
  /** Where the base's engines find it. */
  path: string;
  /** What its spec asks for; undefined: its base takes no adapters. */
  wanted: Downloaded | undefined;
}

/** Within the claim: no entry of the cache, so only the base's adapters are visible to its engine. */
export const adaptersFolder = (base: string): string => `.adapters/${base}`;

const MOUNT_PATH = '/var/lib/berth-adapters';
const DIGEST_DIGITS = 16;

/** The adapter runs on the base's engine, under a name that changes with its source: an engine never has two sources by one name. */
export function serveAdapter(adapter: ModelDeployment, base: ModelDeployment): ServedAdapter {
  const { metadata, spec, status } = adapter;
  const { gpu, concurrency, paused } = base.spec;
  const { podSecurityContext } = base.spec.template;
  const claimName = base.spec.engine.adapters?.claimName;
  const cache = claimName === undefined ? undefined : { claimName, prefetch: true };
  const model = { ...spec.model, source: { ...spec.model.source, ...(cache && { cache }) } };
  // Its token, hub and proxy are the adapter's own, or the installation's.
  const engine = { ...base.spec.engine, env: [], envFrom: [] };
  // The base's pods read what the Job writes.
  const template = { ...spec.template, ...(podSecurityContext && { podSecurityContext }) };
  const inherited: ModelDeployment = {
    ...adapter,
    spec: { ...spec, model, engine, gpu, concurrency, paused: spec.paused || paused, template },
  };
  const wanted = cacheEntry(inherited);
  // Also of another claim: the base's pods may still have that, or its change may be refused.
  const entry = status.adapter?.entry ?? wanted;
  const servedModelName = `${metadata.name}-${entry.slice(-DIGEST_DIGITS)}`;
  inherited.spec.engine = { ...engine, servedModelName };
  return {
    model: inherited,
    base: base.metadata.name,
    port: adapterPort(metadata.name),
    path: `${MOUNT_PATH}/${entry}/${CURRENT}`,
    wanted: claimName === undefined ? undefined : { claimName, entry: wanted },
  };
}

/** Each takes GPU memory; more adapters take turns. */
const MAX_SLOTS = 32;

function listFlags(
  { max, maxRank }: NonNullable<ModelDeploymentSpec['engine']['adapters']>,
  given: readonly string[],
): string[] {
  // vLLM refuses to start with fewer in memory than on the GPU: what the base's own flags say of one bounds the other.
  const onGPU = Number(readArgument(given, 'max-loras')) || 0;
  const inMemory = Number(readArgument(given, 'max-cpu-loras')) || MAX_SLOTS;
  const flags = {
    'max-loras': Math.min(max, MAX_SLOTS, inMemory),
    'max-cpu-loras': Math.max(max, onGPU),
    'max-lora-rank': maxRank,
    // With data parallelism vLLM starts several, of which one alone would know an adapter: it refuses to start.
    'api-server-count': 1,
  };
  return [
    '--enable-lora',
    ...Object.entries(flags)
      .filter(([flag]) => readArgument(given, flag) === undefined)
      .map(([flag, value]) => `--${flag}=${value}`),
  ];
}

/** How an engine is told that it may load adapters while it runs. */
export const switchOf = ({ preset }: Pick<ModelDeploymentSpec['engine'], 'preset'>): string =>
  preset === 'simulator' ? 'SIMULATOR_ADAPTERS' : 'VLLM_ALLOW_RUNTIME_LORA_UPDATING';

type Passthrough = NonNullable<ModelDeploymentSpec['template']['volumes']>;

/** The base as its pods are built: by its spec alone, unchanged without `engine.adapters`. */
export function withAdapters(base: ModelDeployment): ModelDeployment {
  const { engine, template } = base.spec;
  const { adapters } = engine;
  if (!adapters) return base;
  const env = variables({ [switchOf(engine)]: '1' }).filter(
    ({ name }) => !engine.env.some((given) => given.name === name),
  );
  const volume: V1Volume = {
    name: ADAPTER_VOLUME,
    persistentVolumeClaim: { claimName: adapters.claimName },
  };
  const mount: V1VolumeMount = {
    name: ADAPTER_VOLUME,
    mountPath: MOUNT_PATH,
    subPath: adaptersFolder(base.metadata.name),
    readOnly: true,
  };
  const args = engine.preset === 'simulator' ? [] : listFlags(adapters, engine.args);
  const spec: ModelDeploymentSpec = {
    ...base.spec,
    engine: {
      ...engine,
      args: [...args, ...engine.args],
      env: [...(env as unknown as typeof engine.env), ...engine.env],
    },
    template: {
      ...template,
      volumes: [...(template.volumes ?? []), volume] as unknown as Passthrough,
      volumeMounts: [...(template.volumeMounts ?? []), mount] as unknown as Passthrough,
    },
  };
  return { ...base, spec };
}
