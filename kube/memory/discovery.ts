/** Discovery for kubectl: which kinds there are, and their schemas. */
import { isObject } from '../../kit/json.ts';
import { groupVersion, type ResourceType } from './resource-type.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
/** Verbs of subresources that differ from a status. */
const VERBS_OF: Readonly<Record<string, readonly string[]>> = { log: ['get'], eviction: ['create'] };
const VERSION = 'v1.34.0';

const VERSION_INFO = {
  major: '1',
  minor: '34',
  gitVersion: `${VERSION}-berth-memory`,
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch}`,
};

const REVIEWS: readonly { group: string; version: string; kind: string; plural: string }[] = [
  { group: 'authentication.k8s.io', version: 'v1', kind: 'SelfSubjectReview', plural: 'selfsubjectreviews' },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
  },
];

/** The document at a path of discovery; undefined for other paths. */
export function discover(types: readonly ResourceType[], path: string): object | undefined {
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: listGroups(types) };
  if (path === '/version') return VERSION_INFO;
  if (path === '/openapi/v3') return { paths: listDocuments(types) };
  const document = /^\/openapi\/v3\/(?:api|apis)\/(.+)$/.exec(path)?.[1];
  if (document) return describeTypes(types.filter((type) => groupVersion(type) === document));
  const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
  if (group) return listGroups(types).find(({ name }) => name === group);
  const version = path === '/api/v1' ? 'v1' : /^\/apis\/([^/]+\/[^/]+)$/.exec(path)?.[1];
  return version ? listResources(types, version) : undefined;
}

function listGroups(types: readonly ResourceType[]) {
  const all = [...types, ...REVIEWS].filter(({ group }) => group !== '');
  return [...new Set(all.map(({ group }) => group))].map((name) => {
    const { version } = all.find(({ group }) => group === name)!;
    const named = { groupVersion: `${name}/${version}`, version };
    return { kind: 'APIGroup', apiVersion: 'v1', name, versions: [named], preferredVersion: named };
  });
}

function listResources(types: readonly ResourceType[], version: string): object | undefined {
  const own = types.filter((type) => groupVersion(type) === version);
  const reviews = REVIEWS.filter((review) => groupVersion(review) === version);
  if (own.length === 0 && reviews.length === 0) return undefined;
  const resources = own.flatMap((type) => {
    const { kind, plural, singular, shortNames, categories, namespaced } = type;
    const main = {
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs: VERBS,
      shortNames,
      categories,
    };
    const sub = (name: string, kind: string, more: object = {}) => ({
      name: `${plural}/${name}`,
      singularName: '',
      namespaced,
      kind,
      verbs: VERBS_OF[name] ?? ['get', 'patch', 'update'],
      ...more,
    });
    return [
      main,
      ...(type.hasStatus ? [sub('status', kind)] : []),
      ...(type.scale ? [sub('scale', 'Scale', { group: 'autoscaling', version: 'v1' })] : []),
      ...(plural === 'pods'
        ? [sub('log', kind), sub('eviction', 'Eviction', { group: 'policy', version: 'v1' })]
        : []),
    ];
  });
  const asked = reviews.map(({ kind, plural }) => ({
    name: plural,
    singularName: '',
    namespaced: false,
    kind,
    verbs: ['create'],
  }));
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: version,
    resources: [...resources, ...asked],
  };
}

const rootOf = (version: string): string => `${version.includes('/') ? 'apis' : 'api'}/${version}`;

const listDocuments = (types: readonly ResourceType[]): object =>
  Object.fromEntries(
    [...new Set(types.map(groupVersion))].map((version) => [
      rootOf(version),
      { serverRelativeURL: `/openapi/v3/${rootOf(version)}` },
    ]),
  );

/** Enough for `kubectl explain`, and for kubectl to leave validation to the server. */
function describeTypes(types: readonly ResourceType[]): object {
  const described = types.map((type) => {
    const gvk = { group: type.group, version: type.version, kind: type.kind };
    const name = `${type.group.split('.').reverse().concat(type.version, type.kind).filter(Boolean).join('.')}`;
    const base = `/${rootOf(groupVersion(type))}${type.namespaced ? '/namespaces/{namespace}' : ''}/${type.plural}`;
    const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((parameter) => ({
      name: parameter,
      in: 'query',
      schema: { type: 'string' },
    }));
    const operation = { parameters, responses: {}, 'x-kubernetes-group-version-kind': gvk };
    const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
    return {
      paths: {
        [base]: { post: { ...operation, 'x-kubernetes-action': 'post', requestBody: { content } } },
        [`${base}/{name}`]: {
          get: { responses: {}, 'x-kubernetes-action': 'get', 'x-kubernetes-group-version-kind': gvk },
          patch: { ...operation, 'x-kubernetes-action': 'patch' },
          put: { ...operation, 'x-kubernetes-action': 'put' },
        },
      },
      schema: [name, { ...describeSchema(type), 'x-kubernetes-group-version-kind': [gvk] }] as const,
    };
  });
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: VERSION },
    paths: Object.assign({}, ...described.map(({ paths }) => paths)),
    components: { schemas: Object.fromEntries(described.map(({ schema }) => schema)) },
  };
}

function describeSchema({ schema }: ResourceType): object {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  if (!isObject(schema)) return open;
  const named = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: open };
  return { ...schema, properties: { ...named, ...(schema.properties as object) } };
}
