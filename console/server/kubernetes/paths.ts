/** Paths of the API server. Pure. */
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { KubernetesError } from './error.ts';

/** A resource of Berth, or of the core group. */
export interface ObjectPlace {
  plural: string;
  namespace: string;
}

export interface Selection {
  labelSelector?: string;
  fieldSelector?: string;
}

const CORE = ['secrets', 'pods', 'events'];
const encode = encodeURIComponent;

export function collectionPath({ plural, namespace }: ObjectPlace): string {
  const root = CORE.includes(plural) ? '/api/v1' : `/apis/${API_VERSION}`;
  return `${root}/namespaces/${encode(namespace)}/${encode(plural)}`;
}

/** Names that could change the path, such as `..`, are treated as not found. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Throws KubernetesError 404. */
export function objectPath(place: ObjectPlace, name: string): string {
  if (!NAME.test(name)) throw new KubernetesError(404, { message: `${place.plural} "${name}" not found` });
  return `${collectionPath(place)}/${encode(name)}`;
}
