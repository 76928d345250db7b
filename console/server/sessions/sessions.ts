/** The sessions of all browsers, kept in Redis. */

import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { RedisClient } from '../../../redis/client.ts';
import {
  findEnded,
  readSession,
  removeSession,
  saveSession,
} from '../../../redis/console/console-sessions.ts';
import { ConsoleError, REDIS_AWAY } from '../http/error.ts';
import type { RedisPresence } from './redis-presence.ts';
import { createSeal, digestOf, type Session, type SessionSeal } from './session.ts';
import type { TokenRenewal } from './token-renewal.ts';

const ID_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{43}$/;
const MAX_SESSION_MS = 8 * 3_600_000;
/** Sessions that were used within this time stay valid while Redis is unavailable. */
const GRACE_MS = 10 * 60_000;
const MAX_CACHED_SESSIONS = 5_000;

export interface SessionsOptions {
  clock?: () => number;
  /** null: without OIDC. */
  renewal?: TokenRenewal | null;
}

export class Sessions {
  readonly #redis: RedisClient;
  readonly #presence: RedisPresence;
  readonly #clock: () => number;
  readonly #renewal: TokenRenewal | null;
  /** For sessions in use. */
  readonly #seals = new WeakMap<Session, SessionSeal>();
  /** By digest, most recently used last. */
  readonly #cached = new LRUCache<string, { session: Session; seenAt: number }>({ max: MAX_CACHED_SESSIONS });
  /** Emits the digests of sessions that have ended, to their streams. */
  readonly #ended = new EventEmitter().setMaxListeners(0);

  constructor(
    redis: RedisClient,
    presence: RedisPresence,
    { clock = Date.now, renewal = null }: SessionsOptions = {},
  ) {
    this.#redis = redis;
    this.#presence = presence;
    this.#clock = clock;
    this.#renewal = renewal;
  }

  /** `tokenEndsAt`: of a token that is not renewed, in Unix milliseconds; null if unknown. */
  async begin(
    who: Pick<Session, 'token' | 'user' | 'own' | 'oidc'>,
    tokenEndsAt: number | null,
  ): Promise<{ id: string; session: Session }> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const now = this.#clock();
    const expiresAt = Math.min(tokenEndsAt ?? Number.POSITIVE_INFINITY, now + MAX_SESSION_MS);
    const session = { ...who, digest: digestOf(id), expiresAt };
    const sealed = createSeal(id).seal(session);
    await saveSession(this.#redis, { sha256: session.digest, sealed, ttlMs: expiresAt - now });
    return { id, session };
  }

  /** null if there is none (anymore). Throws temporarily_unavailable if its token cannot be renewed now. */
  async find(id: string): Promise<Session | null> {
    if (!ID.test(id)) return null;
    const digest = digestOf(id);
    const sealed = await this.#presence.read(() => readSession(this.#redis, digest), undefined);
    if (sealed === undefined) return this.#findCached(digest);
    const seal = createSeal(id);
    const session = sealed && seal.open(sealed);
    if (!session) {
      this.#cached.delete(digest);
      return null;
    }
    if (session.expiresAt <= this.#clock()) return null;
    this.#seals.set(session, seal);
    if (!(await this.#renew(session, seal))) return null;
    this.#cache(session);
    return session;
  }

  /**
   * False after sign-out; while Redis is unavailable, recently used sessions stay open unless they were signed out here. Keeps
   * the session's token up to date, for streams that outlive it. Throws as `find` does.
   */
  async isOpen(session: Session): Promise<boolean> {
    const { digest, expiresAt } = session;
    if (expiresAt <= this.#clock()) return false;
    const sealed = await this.#presence.read(() => readSession(this.#redis, digest), undefined);
    if (sealed === undefined) return this.#wasUsedRecently(digest);
    const seal = this.#seals.get(session);
    if (sealed === null || !session.oidc || !seal) return sealed !== null;
    const stored = seal.open(sealed);
    if (stored === null) return false;
    Object.assign(session, { token: stored.token, oidc: stored.oidc });
    return this.#renew(session, seal);
  }

  /** Calls `listener` when the session expires, or is signed out here or elsewhere. Returns the unsubscribe function. */
  onEnd({ digest, expiresAt }: Session, listener: () => void): () => void {
    const timer = setTimeout(listener, expiresAt - this.#clock());
    this.#ended.on(digest, listener);
    return () => {
      clearTimeout(timer);
      this.#ended.off(digest, listener);
    };
  }

  end({ digest }: Session): Promise<void> {
    this.evict(digest);
    return removeSession(this.#redis, digest);
  }

  /** After a sign-out, maybe at another replica. */
  evict(digest: string): void {
    this.#cached.delete(digest);
    this.#ended.emit(digest);
  }

  /** Evicts sessions that ended while the subscription was interrupted. */
  async recheck(): Promise<void> {
    for (const digest of await findEnded(this.#redis, [...this.#cached.keys()])) this.evict(digest);
  }

  /** False if the issuer or someone else has ended the session. */
  async #renew(session: Session, seal: SessionSeal): Promise<boolean> {
    if (this.#renewal === null || (await this.#renewal.refresh(session, seal))) return true;
    this.evict(session.digest);
    return false;
  }

  #cache(session: Session): void {
    this.#cached.set(session.digest, { session, seenAt: this.#clock() });
  }

  #wasUsedRecently(digest: string): boolean {
    const known = this.#cached.get(digest);
    return known !== undefined && known.seenAt + GRACE_MS > this.#clock();
  }

  /** While Redis is unavailable. Throws temporarily_unavailable for a session that was not used recently. */
  #findCached(digest: string): Session {
    const known = this.#cached.get(digest);
    if (known && known.session.expiresAt > this.#clock() && this.#wasUsedRecently(digest)) {
      const { session } = known;
      // A token that cannot be renewed now would end the session at the API server.
      if (!session.oidc || session.oidc.endsAt > this.#clock()) return session;
    }
    throw new ConsoleError('temporarily_unavailable', REDIS_AWAY, { retryAfter: 5 });
  }
}
