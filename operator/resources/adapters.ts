/** LoRA adapters: what they take from their base, and what they add to its pods. Pure. */
import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import { adapterPort } from '../../api/model-adapter.ts';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { CURRENT } from '../../api/weights-cache.ts';
import { readArgument } from '../engines/arguments.ts';
import { variables } from '../engines/engine.ts';
import { ADAPTER_VOLUME_PREFIX } from './pod-fields.ts';
import { cacheEntry } from './weights-cache.ts';

/** An adapter as its base's pods serve it. */
export interface ServedAdapter {
  /** With what it takes from its base. */
  model: ModelDeployment;
  base: string;
  /** Where the base's gateways serve it. */
  port: number;
  /** Where the base's engines find it. */
  path: string;
}

/** Within the claim: no entry of the cache, so only the base's adapters are visible to its engine. */
export const adaptersFolder = (base: string): string => `.adapters/${base}`;

const MOUNT_PATH = '/var/lib/berth-adapters';
const mountPath = (claimName: string): string => `${MOUNT_PATH}/${claimName}`;
const claimOf = ({ model }: ServedAdapter): string => model.spec.model.source.cache!.claimName;

const DIGEST_DIGITS = 16;

/** The adapter runs on the base's engine, under a name that changes with its source: an engine never has two sources by one name. */
export function serveAdapter(adapter: ModelDeployment, base: ModelDeployment): ServedAdapter {
  const { metadata, spec } = adapter;
  const { gpu, concurrency, paused, replicas, scaling } = base.spec;
  const { nodeSelector, podSecurityContext } = base.spec.template;
  // Its token, hub and proxy are the adapter's own, or the installation's.
  const engine = { ...base.spec.engine, env: [], envFrom: [] };
  const inherited: ModelDeployment = {
    ...adapter,
    spec: {
      ...spec,
      engine,
      gpu,
      concurrency,
      paused: spec.paused || paused,
      // The scaler knows the base alone.
      replicas: scaling?.max ?? replicas,
      // The base's pods read what the Job writes, where they run.
      template: {
        ...spec.template,
        ...(nodeSelector && { nodeSelector }),
        ...(podSecurityContext && { podSecurityContext }),
      },
    },
  };
  const entry = cacheEntry(inherited);
  const servedModelName = `${metadata.name}-${entry.slice(-DIGEST_DIGITS)}`;
  inherited.spec.engine = { ...engine, servedModelName };
  return {
    model: inherited,
    base: base.metadata.name,
    port: adapterPort(metadata.name),
    path: `${mountPath(spec.model.source.cache!.claimName)}/${entry}/${CURRENT}`,
  };
}

/** Powers of two, so that few adapters restart the pods. */
const MIN_SLOTS = 4;
/** Each takes GPU memory; more adapters take turns. */
const MAX_SLOTS = 32;

function listFlags(adapters: readonly ServedAdapter[], given: readonly string[]): string[] {
  const wanted = Math.max(MIN_SLOTS, 2 ** Math.ceil(Math.log2(adapters.length)));
  const rank = Math.max(...adapters.map(({ model }) => Number(model.spec.adapterOf!.maxRank)));
  // vLLM refuses to start with fewer in memory than on the GPU: what the base's own flags say of one bounds the other.
  const onGPU = Number(readArgument(given, 'max-loras')) || 0;
  const inMemory = Number(readArgument(given, 'max-cpu-loras')) || MAX_SLOTS;
  const flags = {
    'max-loras': Math.min(wanted, MAX_SLOTS, inMemory),
    'max-cpu-loras': Math.max(wanted, onGPU),
    'max-lora-rank': rank,
  };
  return [
    '--enable-lora',
    ...Object.entries(flags)
      .filter(([flag]) => readArgument(given, flag) === undefined)
      .map(([flag, value]) => `--${flag}=${value}`),
  ];
}

/** The base as its pods are built: unchanged without adapters. */
export function withAdapters(base: ModelDeployment, adapters: readonly ServedAdapter[]): ModelDeployment {
  if (adapters.length === 0) return base;
  const { engine, template } = base.spec;
  const isSimulated = engine.preset === 'simulator';
  const switchedOn = isSimulated ? 'SIMULATOR_ADAPTERS' : 'VLLM_ALLOW_RUNTIME_LORA_UPDATING';
  const env = variables({ [switchedOn]: '1' }).filter(
    ({ name }) => !engine.env.some((given) => given.name === name),
  );
  const { volumes, mounts } = mountAdapters(base.metadata.name, adapters);
  const spec: ModelDeploymentSpec = {
    ...base.spec,
    engine: {
      ...engine,
      args: isSimulated ? engine.args : [...listFlags(adapters, engine.args), ...engine.args],
      env: [...(env as unknown as typeof engine.env), ...engine.env],
    },
    template: {
      ...template,
      volumes: [...(template.volumes ?? []), ...volumes],
      volumeMounts: [...(template.volumeMounts ?? []), ...mounts],
    },
  };
  return { ...base, spec };
}

type Passthrough = NonNullable<ModelDeploymentSpec['template']['volumes']>;

/** One mount for each claim, whatever the number of adapters: a further one restarts nothing. */
function mountAdapters(base: string, adapters: readonly ServedAdapter[]) {
  const claims = [...new Set(adapters.map(claimOf))].sort();
  const volumes = claims.map(
    (claimName, index): V1Volume => ({
      name: `${ADAPTER_VOLUME_PREFIX}${index}`,
      persistentVolumeClaim: { claimName },
    }),
  );
  const mounts = claims.map(
    (claimName, index): V1VolumeMount => ({
      name: `${ADAPTER_VOLUME_PREFIX}${index}`,
      mountPath: mountPath(claimName),
      subPath: adaptersFolder(base),
      readOnly: true,
    }),
  );
  return { volumes: volumes as unknown as Passthrough, mounts: mounts as unknown as Passthrough };
}
