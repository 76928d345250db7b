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
  /** As `writtenSpec` returns it. */
  spec: Spec;
}

/** How many replicas run, and which versions answer. As with `kubectl rollout undo`, no revision holds them and no rollback changes them: programs write them, too. */
const LIVE_FIELDS = ['paused', 'replicas', 'scaling', 'traffic'];

const isObject = (value: unknown): value is Spec =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without what only lives, and without `rollout.revision`, by which replicas are restarted. */
function recordedSpec(spec: Spec): Spec {
  const entries = Object.entries(spec).filter(([name]) => !LIVE_FIELDS.includes(name));
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (name !== 'rollout' || !isObject(value)) return [name, value];
      const { revision: _, ...rollout } = value;
      return [name, rollout];
    }),
  );
}

/** Whether a revision holds a field, by its names, such as `['rollout', 'revision']`. */
export const isRecordedField = ([name, member]: readonly string[]): boolean =>
  !LIVE_FIELDS.includes(name!) && !(name === 'rollout' && member === 'revision');

/** What a revision holds: the recorded part as it was written. Defaults are no change, and another version may refuse them. */
export const writtenSpec = (spec: Spec): Spec =>
  stripDefaults(modelDeploymentSpec, recordedSpec(spec)) as Spec;

export const isSameSpec = (one: Spec, other: Spec): boolean =>
  isDeepStrictEqual(writtenSpec(one), writtenSpec(other));

/** The spec of a revision, with the live fields that a deployment has now. */
export function restoreSpec(current: Spec, recorded: Spec): Spec {
  const live = LIVE_FIELDS.flatMap((name) => (current[name] === undefined ? [] : [[name, current[name]]]));
  const { rollout, ...rest } = recordedSpec(recorded);
  const restarted = isObject(current.rollout) ? current.rollout.revision : undefined;
  const kept = {
    ...(isObject(rollout) ? rollout : {}),
    ...(restarted !== undefined && { revision: restarted }),
  };
  return {
    ...rest,
    ...Object.fromEntries(live),
    ...(Object.keys(kept).length > 0 && { rollout: kept }),
  };
}

/** Changes whenever the recorded part of a spec does. */
export const specVersion = (spec: Spec): string => versionOf(writtenSpec(spec));

/** The same of a spec without defaults. */
export const versionOf = (written: Spec): string => digest(JSON.stringify(written, sortFields));

const sortFields = (_: string, value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;

const UID_DIGITS = 10;

/** By the owner's uid, a deployment that is recreated under its name takes over no revision of the former one. */
export const revisionName = (deployment: string, uid: string, number: number): string =>
  `${deployment}-${digest(uid).slice(0, UID_DIGITS)}-${number}`;

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
    spec: writtenSpec(parsed.data.spec),
  };
}

export const newestFirst = (revisions: readonly SpecRevision[]): SpecRevision[] =>
  [...revisions].sort((one, other) => other.number - one.number);

/** The revision before the current spec: where a rollback leads if none is named. */
export function findPrevious(revisions: readonly SpecRevision[], current: Spec): SpecRevision | undefined {
  const written = writtenSpec(current);
  return newestFirst(revisions).find(({ spec }) => !isDeepStrictEqual(spec, written));
}
