/** The API of the front's internal service (PORTS.internal) for gateways and the operator. All routes take POST and JSON. */

export const INTERNAL_PATHS = {
  /** For gateways: signed links to write objects of their workspace. */
  signPuts: '/internal/storage/puts',
  /** For gateways: signed links to read them. */
  signGets: '/internal/storage/gets',
  /** For the operator: puts, gets and deletes a small object with a published StorageCredential. */
  verify: '/internal/storage/verify',
  /** For the operator: whether a tenant's URL may be called, by the rules for tenants' addresses. */
  checkURL: '/internal/egress/check',
  /** For the operator: memory facts of a model from its repository on a model hub. */
  lookUpModel: '/internal/models/look-up',
} as const;

/** Beside `Authorization: Bearer <storageToken>`: the namespace that the token belongs to. */
export const WORKSPACE_HEADER = 'x-berth-workspace';

/** With `Authorization: Bearer <operatorToken>`; so all of the operator's. */
export interface VerifyQuestion {
  namespace: string;
  id: number;
}

export interface VerifyAnswer {
  verified: boolean;
  /** A StorageReason, in CamelCase for a condition: `Denied`, `Unreachable` …; `Verified` if it is. */
  reason: string;
  /** For people; follows the bucket's name if it is not verified. */
  message: string;
}

export interface CheckURLQuestion {
  url: string;
}

export interface CheckURLAnswer {
  ok: boolean;
  /** For people; follows the name of the field with the URL. Empty if valid. */
  message: string;
}

/** Repository names of model hubs, without path traversal. */
export const HUB_REPOSITORY = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/;

/** Path segments that would change the path. */
export const HUB_REVISION = /^(?!\.{1,2}$)/;

export interface LookUpModelQuestion {
  /** Origin of the hub, with a path if it has one: the installation's setting. */
  hub: string;
  /** Comes from a tenant's spec, like the revision: a branch, tag or commit. */
  repo: string;
  revision: string;
}

/** `found: false`: the message, for people, follows the repository's name. */
export type LookUpModelAnswer =
  | { found: true; shape: ModelShape | null; weightBytes: number | null }
  | { found: false; isFinal: boolean; message: string };

/** What determines the size of a language model's KV cache. */
export interface ModelShape {
  /** Layers that keep keys and values of all tokens of the context. */
  fullLayers: number;
  /** Layers that keep only those of the last `window` tokens. */
  windowLayers: number;
  /** Tokens; 0 without such layers. */
  window: number;
  attentionHeads: number;
  keyValueHeads: number;
  /** Elements of a token in a layer that every GPU keeps of a compressed cache (MLA); null: by heads. */
  latentElements: number | null;
  /** Elements of a token, a layer and a head, keys and values together. */
  headElements: number;
  /** Size of one element of the cache, unless the engine is configured otherwise. */
  cacheBytes: number;
  /** Bytes of a weight in the files; null if they are quantized, or not in the config. */
  weightElementBytes: number | null;
  /** Tokens; null if not in the config. */
  maxContext: number | null;
}
