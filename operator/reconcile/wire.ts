import type { KubeObject } from '../../kube/object.ts';

/** The typed face of an object as it is on the wire, where times are strings. */
export type Wire<T> = KubeObject & Omit<T, 'metadata' | 'apiVersion' | 'kind'>;
