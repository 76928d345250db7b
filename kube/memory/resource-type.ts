/** A resource type of the API server. */

import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import type { ListType, ListTypes } from './field-set.ts';
import { listTypeAt, type Schema } from './schema.ts';
import type { ObjectValidator } from './schema-validation.ts';
import type { Column } from './table.ts';

export interface ScalePaths {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface ResourceType {
  /** '' for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  hasStatus: boolean;
  scale?: ScalePaths | undefined;
  columns: readonly Column[];
  /** Schema of custom resources: fields not in it are pruned. */
  schema?: Schema | undefined;
  /** Custom resources are validated by their schema and its rules. */
  validate?: ObjectValidator;
  /** Another version of the same objects, and how they are read and written in this one. */
  view?: { of: string; read: (stored: KubeObject) => KubeObject; write: (object: KubeObject) => KubeObject };
}

export const groupVersion = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** `pods`, `deployments.apps`: as errors name a resource, and how it is stored. */
export const typeKey = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string =>
  group === '' ? plural : `${plural}.${group}`;

/** Lists of Kubernetes' own kinds, by the name of their field. */
const LISTS: Readonly<Record<string, ListType>> = {
  finalizers: 'set',
  ownerReferences: ['uid'],
  conditions: ['type'],
  containers: ['name'],
  initContainers: ['name'],
  volumes: ['name'],
  env: ['name'],
  imagePullSecrets: ['name'],
  resourceClaims: ['name'],
  claims: ['name'],
  volumeMounts: ['mountPath'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
  hostAliases: ['ip'],
};

const listPorts = (items: readonly unknown[], path: readonly string[]): ListType => {
  if (path.includes('containers') || path.includes('initContainers')) return ['containerPort', 'protocol'];
  return items.every((item) => isObject(item) && 'port' in item) && path[0] === 'spec'
    ? ['port', 'protocol']
    : 'atomic';
};

export const listTypesOf =
  ({ schema }: Pick<ResourceType, 'schema'>): ListTypes =>
  (path, items) => {
    const field = path.at(-1) ?? '';
    if (path[0] === 'metadata' || !schema)
      return field === 'ports' ? listPorts(items, path) : (LISTS[field] ?? 'atomic');
    return listTypeAt(schema, path);
  };

/** Under which its objects are stored: those of another type, of which it is a view. */
export const storeKey = (type: ResourceType): string => type.view?.of ?? typeKey(type);

/** A stored object as its type shows it. */
export const readAs = (type: ResourceType, stored: KubeObject): KubeObject =>
  type.view?.read(stored) ?? stored;
