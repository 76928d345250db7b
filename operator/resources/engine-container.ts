/** The engine's container: the preset's, overlaid with the spec. */
import type {
  V1Container,
  V1EnvFromSource,
  V1EnvVar,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';
import { servedModelName } from '../../api/engine-traits.ts';
import { ADMIN_PATHS, DRAIN_TOKEN_HEADER, PROBE_PERIOD_SECONDS } from '../../api/gateway-environment.ts';
import { drainToken } from '../../api/identity.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { CONTAINERS, PORTS } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import { joinArguments } from '../engines/arguments.ts';
import { ENGINE_HOME, type EngineInput, mergeVariables, variables } from '../engines/engine.ts';
import { readImageVersion } from '../engines/engine-version.ts';
import { PRESETS } from '../engines/presets.ts';
import { decideAccelerators } from './accelerators.ts';
import { buildEngineNotes } from './engine-notes.ts';
import { buildResources } from './engine-resources.ts';
import { adminProbe, decideGrace, PROBE_TIMEOUT_SECONDS } from './gateway-container.ts';
import { engineImage, findPresetImageVendor, type ImageSettings } from './images.ts';
import { engineSecurity } from './security.ts';
import type { BuildSettings } from './settings.ts';
import type { Weights } from './weights.ts';

const HOME_VOLUME = 'home';
export const HOME: V1Volume = { name: HOME_VOLUME, emptyDir: {} };

/** The kubelet also runs the drain hook after a failed probe, when there is nothing to wait for. */
const PROBE_GRACE_SECONDS = 30;
/** A gateway that restarts for this long must not cost a loaded model. */
const LIVENESS_SECONDS = 300;
const LIVENESS_PERIOD_SECONDS = 10;

export interface EngineParts {
  weights: Weights;
  /** Further mounts, such as shared memory. */
  mounts: V1VolumeMount[];
  settings: BuildSettings;
}

export function engineInput(
  { spec }: ModelDeployment,
  { weights, settings }: { weights: Pick<Weights, 'location'>; settings: ImageSettings },
): EngineInput {
  return {
    spec,
    location: weights.location,
    servedModelName: servedModelName(spec),
    version: spec.engine.version ?? readImageVersion(engineImage(spec, settings)),
    gpus: decideAccelerators(spec).count,
    drainMs: decideGrace(spec).drainMs,
    imageOf: findPresetImageVendor(spec, settings),
  };
}

export function buildEngineContainer(model: ModelDeployment, parts: EngineParts): V1Container {
  const { spec } = model;
  const { weights, mounts, settings } = parts;
  const preset = PRESETS[spec.engine.preset];
  const accelerators = decideAccelerators(spec);
  const run = preset.run(engineInput(model, { weights, settings }));
  const notes = buildEngineNotes(spec);
  const command = spec.engine.command ?? run.command;
  const pullPolicy = spec.engine.imagePullPolicy ?? ownPullPolicy(model, settings);
  return {
    name: CONTAINERS.engine,
    // Without one the spec is refused, and none of this is created.
    image: engineImage(spec, settings) ?? '',
    ...(pullPolicy ? { imagePullPolicy: pullPolicy } : {}),
    ...(command ? { command } : {}),
    args: joinArguments(run.args, spec.engine.args),
    env: mergeVariables(
      preset.uid === undefined ? [] : variables({ HOME: ENGINE_HOME, USER: 'berth', LOGNAME: 'berth' }),
      weights.env,
      run.env,
      spec.engine.env as unknown as V1EnvVar[],
    ),
    ...(spec.engine.envFrom.length > 0 ? { envFrom: spec.engine.envFrom as V1EnvFromSource[] } : {}),
    ...buildProbes(model),
    lifecycle: { preStop: buildDrainHook(model, settings) },
    resources: buildResources(spec, accelerators),
    securityContext: engineSecurity(preset, settings.platform, spec.template.securityContext),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: HOME_VOLUME, mountPath: ENGINE_HOME },
      ...weights.mounts,
      ...(notes ? [notes.mount] : []),
      ...mounts,
      ...((spec.template.volumeMounts ?? []) as unknown as V1VolumeMount[]),
    ],
  };
}

const ownPullPolicy = ({ spec }: ModelDeployment, { imagePullPolicy }: BuildSettings) =>
  spec.engine.preset === 'simulator' && !spec.engine.image ? imagePullPolicy : undefined;

/** Through the gateway's admin port, since the engine listens on loopback. */
function buildProbes({ spec }: ModelDeployment): Pick<V1Container, 'startupProbe' | 'livenessProbe'> {
  const startSeconds = parseDuration(spec.engine.startupTimeout) / 1000;
  return {
    startupProbe: adminProbe(ADMIN_PATHS.engineStartup, {
      periodSeconds: PROBE_PERIOD_SECONDS.engineStartup,
      timeoutSeconds: PROBE_TIMEOUT_SECONDS,
      failureThreshold: Math.max(1, Math.ceil(startSeconds / PROBE_PERIOD_SECONDS.engineStartup)),
      terminationGracePeriodSeconds: PROBE_GRACE_SECONDS,
    }),
    livenessProbe: adminProbe(ADMIN_PATHS.engineLiveness, {
      periodSeconds: LIVENESS_PERIOD_SECONDS,
      timeoutSeconds: PROBE_TIMEOUT_SECONDS,
      failureThreshold: LIVENESS_SECONDS / LIVENESS_PERIOD_SECONDS,
      terminationGracePeriodSeconds: PROBE_GRACE_SECONDS,
    }),
  };
}

/** The hook returns when the work in flight has ended; its only deadline is the pod's grace period. */
function buildDrainHook({ metadata }: ModelDeployment, { masterKey }: BuildSettings) {
  const token = drainToken(masterKey, metadata.namespace, metadata.name);
  return {
    httpGet: {
      path: ADMIN_PATHS.drain,
      port: PORTS.admin,
      httpHeaders: [{ name: DRAIN_TOKEN_HEADER, value: token }],
    },
  };
}
