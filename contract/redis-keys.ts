/**
 * The table of Redis keys and channels. `c:{ws}:` is written by the operator and read by the workspace's gateways;
 * `w:{ws}:` is theirs to write; `g:` is the front's and the operator's alone. A workspace's keys share one hash tag.
 */

/** The functions library that this version calls; older ones stay loaded while a live sidecar pins them. */
export const FUNCTIONS_LIBRARY = 'berth_1';

export const FUNCTIONS = {
  /** Authenticates a key and counts a request against its limits. */
  admit: `${FUNCTIONS_LIBRARY}_admit`,
  /** Counts tokens and money after a response. */
  settle: `${FUNCTIONS_LIBRARY}_settle`,
  /** Writes one replica's heartbeat and reads its peers'. */
  heartbeat: `${FUNCTIONS_LIBRARY}_heartbeat`,
  /** Removes a replica's heartbeat when it shuts down. */
  leave: `${FUNCTIONS_LIBRARY}_leave`,
} as const;

const tagged = (family: 'c' | 'w', namespace: string, rest: string) => `${family}:{${namespace}}:${rest}`;

export const configKeys = (namespace: string) => ({
  /** Hash: SHA-256 of a key → PublishedKey as JSON. */
  apiKeys: tagged('c', namespace, 'apikeys'),
  /** Hash: fields of the workspace (`creditMicros`, absent = unlimited). */
  workspace: tagged('c', namespace, 'workspace'),
  /** Hash: deployment name → GatewayConfig as JSON. */
  deployments: tagged('c', namespace, 'deployments'),
  /** Hash: deployment name → PublishedReplicas as JSON. */
  replicas: tagged('c', namespace, 'replicas'),
  prefix: `c:{${namespace}}:`,
});

export const workKeys = (namespace: string) => ({
  /** Counter of one API key's minute. */
  rpm: (sha256: string) => tagged('w', namespace, `rpm:${sha256.slice(0, 24)}`),
  /** Counter of one API key's tokens on one UTC day (days since 1970). */
  tpd: (sha256: string, day: number) => tagged('w', namespace, `tpd:${sha256.slice(0, 24)}:${day}`),
  /** Counter of millionths spent. */
  credit: tagged('w', namespace, 'credit'),
  /** Marker that one settlement is done, by the caller's token. */
  settled: (token: string) => tagged('w', namespace, `settled:${token}`),
  /** Hash: pod name → Heartbeat as JSON. */
  heartbeats: (deployment: string) => tagged('w', namespace, `replicas:${deployment}`),
  prefix: `w:{${namespace}}:`,
});

export const globalKeys = {
  /** Hash: host name → `namespace/name`. */
  hosts: 'g:hosts',
  /** String; its absence tells the operator that Redis lost everything. */
  epoch: 'g:epoch',
  /** Set of namespaces that have published configuration. */
  workspaces: 'g:workspaces',
} as const;

export const channels = {
  /** Tells a workspace's gateways that its configuration changed. */
  workspace: (namespace: string) => `n:{${namespace}}`,
  /** Tells the front that hosts, replicas or configuration changed. */
  front: 'n:front',
} as const;

/** Member of c:…:apikeys; short names, since it is decoded on every request. */
export interface PublishedKey {
  /** Name of the APIKey object. */
  n: string;
  rpm: number;
  tpd: number;
  /** Unix seconds; 0 = never. */
  exp: number;
  /** 1 = disabled. */
  off: 0 | 1;
}

/** Ready replicas of a deployment, from its pods; the front dials these on PORTS.http. */
export interface PublishedReplicas {
  addresses: string[];
}

/** A replica's own word about itself. */
export interface Heartbeat {
  v: 1;
  pod: string;
  address: string;
  port: number;
  inflight: number;
  /** Slots; null = unlimited. */
  limit: number | null;
  ready: boolean;
  draining: boolean;
  version: string;
  /** Unix milliseconds by Redis' clock; set by the function. */
  at: number;
}
