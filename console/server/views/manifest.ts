/** Converts a ModelDeployment to its editable form, and back. Pure. */
import { z } from 'zod';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import type { ManifestView } from '../../api.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import type { KubeObject } from '../kubernetes/object.ts';

const { kind } = modelDeploymentResource;
/** Written by kubectl, a copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

type Texts = Record<string, string>;
const texts = z.record(z.string(), z.string()).optional();

/** Without the API server's own fields; the API server validates the spec. */
const editable = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal(kind),
  metadata: z.strictObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: texts,
    annotations: texts,
  }),
  spec: z.record(z.string(), z.unknown()),
});

/** Without status and the API server's own fields. */
export function showManifest({ metadata, spec }: KubeObject): ManifestView['manifest'] {
  const { name, namespace, labels, annotations = {} } = metadata;
  const { [LAST_APPLIED]: _, ...shown } = annotations;
  const hasAny = (found: Texts | undefined) => found && Object.keys(found).length > 0;
  const kept = { ...(hasAny(labels) && { labels }), ...(hasAny(shown) && { annotations: shown }) };
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace, ...kept }, spec };
}

/** Throws ConsoleError unless it is a ModelDeployment of this namespace, and of that name if one is given. */
export function readManifest(
  manifest: unknown,
  { namespace, name }: { namespace: string; name?: string },
): KubeObject {
  requireWritable(manifest);
  const { metadata, ...object } = check(manifest, editable);
  const wrong = (field: string, message: string) =>
    new ConsoleError('invalid_request_error', `metadata.${field}: ${message}`, {
      param: `metadata.${field}`,
    });
  if (name !== undefined && metadata.name !== name)
    throw wrong('name', `must stay ${name}; create a new deployment for another name`);
  if ((metadata.namespace ?? namespace) !== namespace)
    throw wrong('namespace', `must be ${namespace}, the namespace of this page`);
  const { labels, annotations } = metadata;
  const texts = { ...(labels && { labels }), ...(annotations && { annotations }) };
  return { ...object, metadata: { name: metadata.name, namespace, ...texts } };
}

/** Parsed input may be nested too deeply to be serialized again. */
function requireWritable(manifest: unknown): void {
  try {
    JSON.stringify(manifest);
  } catch {
    throw new ConsoleError('invalid_request_error', 'manifest: is nested too deeply.', { param: 'manifest' });
  }
}

/** The stored object with the spec, labels and annotations of the edited one: finalizers and owners stay. */
export function mergeManifest(stored: KubeObject, edited: KubeObject): KubeObject {
  const kept = stored.metadata.annotations?.[LAST_APPLIED];
  const { labels = {}, annotations } = edited.metadata;
  const texts = {
    labels,
    annotations: { ...annotations, ...(kept !== undefined && { [LAST_APPLIED]: kept }) },
  };
  return { ...stored, metadata: { ...stored.metadata, ...texts }, spec: edited.spec };
}
