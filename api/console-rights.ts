/**
 * Permissions that the console checks, by a SelfSubjectAccessReview as the user, before it reads or acts on its own:
 * verbs on subresources that exist in RBAC only. The chart's ClusterRole for members grants the same names.
 */
export interface ConsoleRight {
  /** Berth's if absent. */
  group?: string;
  verb: 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';
  resource: string;
  subresource?: string;
}

export const CONSOLE_RIGHTS = {
  /** Makes a namespace one of the user's. */
  seeNamespace: { verb: 'list', resource: 'modeldeployments' },
  readRequests: { verb: 'get', resource: 'modeldeployments', subresource: 'requests' },
  cancelRequests: { verb: 'delete', resource: 'modeldeployments', subresource: 'requests' },
  usePlayground: { verb: 'create', resource: 'modeldeployments', subresource: 'playground' },
  readUsage: { verb: 'get', resource: 'modeldeployments', subresource: 'usage' },
  readDeliveries: { verb: 'get', resource: 'webhookendpoints', subresource: 'deliveries' },
  resendDeliveries: { verb: 'create', resource: 'webhookendpoints', subresource: 'deliveries' },
  sendTests: { verb: 'create', resource: 'webhookendpoints', subresource: 'test' },
  rollSecret: { verb: 'update', resource: 'workspaces', subresource: 'signingsecret' },
  /** The console writes the Secret; members have no permissions on Secrets. */
  storeKeys: { verb: 'create', resource: 'storagecredentials', subresource: 'keys' },
} as const satisfies Record<string, ConsoleRight>;

export type ConsoleRightName = keyof typeof CONSOLE_RIGHTS;

/** Other permissions of a member for using every page: calls are made as the user, so the API server itself decides. */
export const CONSOLE_WRITES = {
  manageDeployments: rightsOn('modeldeployments', ['create', 'update', 'patch', 'delete']),
  manageKeys: rightsOn('apikeys', ['create', 'patch', 'delete']),
  manageWebhooks: rightsOn('webhookendpoints', ['create', 'patch', 'delete']),
  manageStorage: [...rightsOn('storagecredentials', ['create', 'patch', 'delete']), CONSOLE_RIGHTS.storeKeys],
} as const satisfies Record<string, readonly ConsoleRight[]>;

/** Kubernetes' own resources that a member reads, as the user: the pods of a deployment, and its former specs. */
export const POD_READS = {
  readReplicas: { group: '', verb: 'list', resource: 'pods' },
  readLogs: { group: '', verb: 'get', resource: 'pods', subresource: 'log' },
  readEvents: { group: '', verb: 'list', resource: 'events' },
  readHistory: { group: 'apps', verb: 'list', resource: 'controllerrevisions' },
} as const satisfies Record<string, ConsoleRight>;

/** Unlike a deletion, an eviction keeps to the disruption budget. */
export const POD_WRITES = {
  restartReplicas: { group: '', verb: 'create', resource: 'pods', subresource: 'eviction' },
} as const satisfies Record<string, ConsoleRight>;

function rightsOn(resource: string, verbs: readonly ConsoleRight['verb'][]): ConsoleRight[] {
  return verbs.map((verb) => ({ verb, resource }));
}
