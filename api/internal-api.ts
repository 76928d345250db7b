/** The front's internal service (PORTS.internal): what gateways and the operator ask it for. All take POST and JSON. */

export const INTERNAL_PATHS = {
  /** For gateways: signed links to write objects of their workspace. */
  signPuts: '/internal/storage/puts',
  /** For gateways: signed links to read them. */
  signGets: '/internal/storage/gets',
  /** For the operator: puts, gets and deletes a small object with a published StorageCredential. */
  verify: '/internal/storage/verify',
  /** For the operator: whether a tenant's URL may be called, by the rules for tenants' addresses. */
  checkURL: '/internal/egress/check',
  /** For the operator: what a repository of a model hub says of the memory that its model takes. */
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
  /** For people; goes on after the bucket's name where it is not verified. */
  message: string;
}

export interface CheckURLQuestion {
  url: string;
}

export interface CheckURLAnswer {
  ok: boolean;
  /** For people; goes on after the name of what holds the URL. Empty when all is well. */
  message: string;
}

/** As model hubs name repositories: none leads to another path. */
export const HUB_REPOSITORY = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/;

/** As a part of a URL's path these would lead to another. */
export const HUB_REVISION = /^(?!\.{1,2}$)/;

export interface LookUpModelQuestion {
  /** Origin of the hub, with a path if it has one: the installation's setting. */
  hub: string;
  /** Of a tenant's spec; so the revision, a branch, tag or commit. */
  repo: string;
  revision: string;
}

/** `found: false`: the message, for people, goes on after the repository's name. */
export type LookUpModelAnswer =
  | { found: true; shape: ModelShape | null; weightBytes: number | null }
  | { found: false; isFinal: boolean; message: string };

/** What of a language model decides the size of its KV cache. */
export interface ModelShape {
  /** Layers whose keys and values of each token of the context are kept. */
  fullLayers: number;
  /** Layers that keep those of the last `window` tokens only. */
  windowLayers: number;
  /** Tokens; 0 without such layers. */
  window: number;
  attentionHeads: number;
  keyValueHeads: number;
  /** Elements of a token in a layer that every GPU keeps of a compressed cache (MLA); null: by heads. */
  latentElements: number | null;
  /** Elements of a token, a layer and a head, keys and values together. */
  headElements: number;
  /** Of an element of the cache, unless the engine is configured otherwise. */
  cacheBytes: number;
  /** Of an element of the weights in their files; null where they are quantized, or the config does not say. */
  weightElementBytes: number | null;
  /** Tokens; null where the config does not say. */
  maxContext: number | null;
}
