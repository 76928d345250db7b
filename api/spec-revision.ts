/** Revisions of a ModelDeployment's spec: what they hold, and what going back to one changes. Pure. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { modelDeploymentSpec } from './model-deployment.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from './names.ts';
import { stripDefaults } from './strip-defaults.ts';

/** Revisions that are kept of a deployment. */
export const MAX_REVISIONS = 10;

/** A spec as the API server has it. */
export type Spec = Record<string, unknown>;

export interface SpecRevision {
  /** The name of its ControllerRevision. */
  name: string;
  number: number;
  /** When the spec was written, in RFC 3339. */
  at: string;
  /** The field manager that wrote it, which names itself; null if Kubernetes recorded none. */
  manager: string | null;
  spec: Spec;
}

/** How many replicas run. As with `kubectl rollout undo`, no revision holds it and no rollback changes it: autoscalers write it, too. */
const SIZE_FIELDS = ['paused', 'replicas', 'scaling'];

const isObject = (value: unknown): value is Spec =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The part of a spec that a revision holds: without its size, and without `rollout.revision`, by which replicas are restarted. */
export function recordedSpec(spec: Spec): Spec {
  const entries = Object.entries(spec).filter(([name]) => !SIZE_FIELDS.includes(name));
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (name !== 'rollout' || !isObject(value)) return [name, value];
      const { revision: _, ...rollout } = value;
      return [name, rollout];
    }),
  );
}

/** The recorded part as it was written: defaults, which a later version may add, are no change. */
export const writtenSpec = (spec: Spec): Spec =>
  stripDefaults(modelDeploymentSpec, recordedSpec(spec)) as Spec;

export const isSameSpec = (one: Spec, other: Spec): boolean =>
  isDeepStrictEqual(writtenSpec(one), writtenSpec(other));

/** The spec of a revision, in the size that a deployment has now. */
export function restoreSpec(current: Spec, recorded: Spec): Spec {
  const size = SIZE_FIELDS.flatMap((name) => (current[name] === undefined ? [] : [[name, current[name]]]));
  const { rollout, ...rest } = recordedSpec(recorded);
  const restarted = isObject(current.rollout) ? current.rollout.revision : undefined;
  const kept = {
    ...(isObject(rollout) ? rollout : {}),
    ...(restarted !== undefined && { revision: restarted }),
  };
  return {
    ...rest,
    ...Object.fromEntries(size),
    ...(Object.keys(kept).length > 0 && { rollout: kept }),
  };
}

/** Changes whenever the recorded part of a spec does. */
export const specVersion = (spec: Spec): string => digest(JSON.stringify(writtenSpec(spec)));

const HASH_DIGITS = 10;

/** With the owner's uid: a deployment that is recreated under its name takes over no revision of the former one. */
export const revisionName = (deployment: string, uid: string, spec: Spec): string =>
  `${deployment}-${digest(`${uid} ${JSON.stringify(writtenSpec(spec))}`).slice(0, HASH_DIGITS)}`;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Selects a deployment's revisions among all ControllerRevisions, which other controllers have as well. */
export const revisionLabels = (deployment: string): Record<string, string> => ({
  [LABELS.managedBy]: MANAGED_BY,
  [LABELS.deployment]: deployment,
});

export const revisionSelector = (deployment: string): string =>
  Object.entries(revisionLabels(deployment))
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

const controllerRevision = z.object({
  metadata: z.object({
    name: z.string(),
    creationTimestamp: z.string().catch(''),
    annotations: z.record(z.string(), z.string()).catch({}),
    ownerReferences: z.array(z.object({ uid: z.string(), controller: z.boolean().optional() })).catch([]),
  }),
  revision: z.int(),
  data: z.object({ spec: z.record(z.string(), z.unknown()) }),
});

/** Reads a ControllerRevision; undefined if it is not this owner's. */
export function readRevision(object: unknown, ownerUid: string): SpecRevision | undefined {
  const { data: parsed } = controllerRevision.safeParse(object);
  if (!parsed?.metadata.ownerReferences.some(({ uid, controller }) => controller && uid === ownerUid))
    return undefined;
  const { name, creationTimestamp, annotations } = parsed.metadata;
  return {
    name,
    number: parsed.revision,
    at: annotations[ANNOTATIONS.changedAt] ?? creationTimestamp,
    manager: annotations[ANNOTATIONS.changedBy] || null,
    spec: parsed.data.spec,
  };
}

export const newestFirst = (revisions: readonly SpecRevision[]): SpecRevision[] =>
  [...revisions].sort((one, other) => other.number - one.number);

/** The revision before the current spec: where a rollback leads if none is named. */
export const findPrevious = (revisions: readonly SpecRevision[], current: Spec): SpecRevision | undefined =>
  newestFirst(revisions).find(({ spec }) => !isSameSpec(spec, current));
