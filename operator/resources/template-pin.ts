/** Pins the pod template while the spec describes the same pods, so that an upgrade restarts nothing (decision 0108). */
import { createHash } from 'node:crypto';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { sleepsWhenIdle } from '../../api/engine-traits.ts';
import { type ModelDeploymentSpec, modelDeploymentSpec } from '../../api/model-deployment.ts';
import { ANNOTATIONS } from '../../api/names.ts';
import { stripDefaults } from '../../api/strip-defaults.ts';
import { type KubeObject, stableStringify } from '../../kube/object.ts';
import type { Problem } from '../status/problem.ts';
import { decideAccelerators } from './accelerators.ts';
import { unpackTemplate } from './packed-template.ts';
import { graftSidecar } from './sidecar-graft.ts';
import { findStaleSettings } from './template-settings.ts';

/** A rollout of the sidecar that the operator starts by itself, without a change of the spec. */
export interface SidecarGrant {
  revision: string;
  /** Unix milliseconds. */
  startedAt: number;
}

export interface PinnedTemplate {
  template: V1PodTemplateSpec;
  sidecarVersion: string;
  /** The operator would now give the pods a different sidecar. */
  isSidecarOutdated: boolean;
  /** Settings of the installation that have changed since, by name. */
  staleSettings: readonly string[];
  /** The engine starts without the parsers of a guessed family, which did not fit. */
  isWithoutParsers: boolean;
  /** Stored in the Deployment's annotations. */
  annotations: Record<string, string>;
}

export interface TemplateBuild {
  spec: ModelDeploymentSpec;
  queueLabels: Readonly<Record<string, string>>;
  /** The current Deployment, if it exists. */
  live: Pick<KubeObject, 'metadata'> | undefined;
  version: string;
  /** Grafts the current sidecar into the kept template. */
  grant?: SidecarGrant | undefined;
  /** Whether engines with this template refuse its parsers. */
  refusesParsers: (template: V1PodTemplateSpec) => boolean;
  build: (choice: { withParsers: boolean }) => V1PodTemplateSpec;
}

/** Ends the hash of a template without parsers: it stays so until the spec describes other pods. */
const WITHOUT_PARSERS = '-without-parsers';

export function pinTemplate(wanted: TemplateBuild): PinnedTemplate {
  const { version, grant, build } = wanted;
  const found = findKept(wanted);
  const { inputs, isWithoutParsers } = found;
  const current = build({ withParsers: !isWithoutParsers });
  const kept = found.kept ?? describeFirst(current, version);
  const grafted = graftSidecar(kept.template, current);
  const isOutdated = !isSame(grafted, kept.template);
  const { template, sidecarVersion, rollout } =
    grant && isOutdated ? { ...describeFirst(grafted, version), rollout: describeGrant(grant) } : kept;
  return {
    template,
    sidecarVersion,
    isSidecarOutdated: isOutdated && !grant,
    staleSettings: findStaleSettings(template, current),
    isWithoutParsers,
    annotations: {
      [ANNOTATIONS.templateInputs]: inputs,
      [ANNOTATIONS.template]: JSON.stringify(template),
      [ANNOTATIONS.sidecarVersion]: sidecarVersion,
      ...rollout,
    },
  };
}

function findKept({ spec, queueLabels, live, refusesParsers }: TemplateBuild) {
  const inputs = hashInputs(spec, queueLabels);
  const without = `${inputs}${WITHOUT_PARSERS}`;
  if (live?.metadata.annotations?.[ANNOTATIONS.templateInputs] === without)
    return { inputs: without, isWithoutParsers: true, kept: readKept(live, without) };
  const kept = readKept(live, inputs);
  if (kept && refusesParsers(kept.template))
    return { inputs: without, isWithoutParsers: true, kept: undefined };
  return { inputs, isWithoutParsers: false, kept };
}

/**
 * All annotations of an object together may have 256 KiB. Kubernetes copies those of a Deployment to its ReplicaSets, beside some of
 * its own.
 */
const MAX_TEMPLATE_KIB = 250;

/** The API server would only say that annotations are too long, which nobody wrote. */
export function findTemplateProblem({ template }: Pick<PinnedTemplate, 'template'>): Problem[] {
  const kib = Buffer.byteLength(JSON.stringify(template)) / 1024;
  if (kib <= MAX_TEMPLATE_KIB) return [];
  const message = `the pod template has ${Math.ceil(kib)} KiB of JSON, and may have ${MAX_TEMPLATE_KIB}: move long texts of spec.engine.env, spec.engine.args and spec.template, such as chat templates, to a ConfigMap, and mount it by spec.template.volumes`;
  return [{ reason: 'PodTemplateTooLarge', message }];
}

/** Grafting keeps the order of fields, so comparing the plain text is nearly always enough. */
const isSame = (a: V1PodTemplateSpec, b: V1PodTemplateSpec): boolean =>
  JSON.stringify(a) === JSON.stringify(b) || stableStringify(a) === stableStringify(b);

const describeFirst = (template: V1PodTemplateSpec, version: string): KeptTemplate => ({
  template,
  sidecarVersion: version,
  rollout: {},
});

interface KeptTemplate extends Pick<PinnedTemplate, 'template' | 'sidecarVersion'> {
  /** Annotations of the last rollout that the operator started by itself. */
  rollout: Record<string, string>;
}

function readKept(live: TemplateBuild['live'], inputs: string): KeptTemplate | undefined {
  const annotations = live?.metadata.annotations ?? {};
  const {
    [ANNOTATIONS.templateInputs]: before,
    [ANNOTATIONS.template]: text,
    [ANNOTATIONS.sidecarVersion]: sidecarVersion,
  } = annotations;
  if (before !== inputs || text === undefined || sidecarVersion === undefined) return undefined;
  const rollout = Object.fromEntries(
    [ANNOTATIONS.sidecarRevision, ANNOTATIONS.sidecarRolledAt].flatMap((name) => {
      const value = annotations[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  try {
    return { template: JSON.parse(unpackTemplate(text)) as V1PodTemplateSpec, sidecarVersion, rollout };
  } catch {
    return undefined;
  }
}

const describeGrant = ({ revision, startedAt }: SidecarGrant): Record<string, string> => ({
  [ANNOTATIONS.sidecarRevision]: revision,
  [ANNOTATIONS.sidecarRolledAt]: new Date(startedAt).toISOString(),
});

/** The last rollout of the sidecar that the operator started by itself, by the Deployment's annotations. */
export function readGrant({ metadata }: Pick<KubeObject, 'metadata'>): SidecarGrant | undefined {
  const { [ANNOTATIONS.sidecarRevision]: revision, [ANNOTATIONS.sidecarRolledAt]: at = '' } =
    metadata.annotations ?? {};
  const startedAt = Date.parse(at);
  return revision === undefined || Number.isNaN(startedAt) ? undefined : { revision, startedAt };
}

/** The memory is only for estimates, and a bare count of one equals the preset's default. */
function selectGPU(spec: ModelDeploymentSpec, gpu: ModelDeploymentSpec['gpu']): object | undefined {
  const { memory: _, ...written } = gpu ?? {};
  const isUsual = decideAccelerators(spec).count === decideAccelerators({ ...spec, gpu: undefined }).count;
  return gpu && !(isUsual && Object.keys(written).length === 0) ? written : undefined;
}

/**
 * Hash of the fields that make the pods, and of their queue labels. The stall time, limits, sizes, prices, concurrency,
 * resilience, the GPUs' memory, names for display, replicas, pausing and routes are taken live (decision 0111). Defaults are left out: a field that a later version adds must not roll anything.
 */
export function hashInputs(
  spec: ModelDeploymentSpec,
  queueLabels: Readonly<Record<string, string>> = {},
): string {
  const { kind, model, engine, gpu, resources, rollout, template } = stripDefaults(
    modelDeploymentSpec,
    spec,
  ) as ModelDeploymentSpec;
  const inputs = {
    kind,
    model: { id: model.id, source: model.source },
    // Undefined members are not part of the text.
    engine: { ...engine, stallTimeout: undefined, routes: undefined },
    gpu: selectGPU(spec, gpu),
    resources,
    sleeps: sleepsWhenIdle(spec) || undefined,
    rollout: { drainTimeout: rollout?.drainTimeout, revision: rollout?.revision },
    template,
    queueLabels: Object.keys(queueLabels).length > 0 ? queueLabels : undefined,
  };
  return createHash('sha256').update(stableStringify(inputs)).digest('hex').slice(0, 32);
}
