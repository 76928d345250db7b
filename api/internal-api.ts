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
