/** Who is signed in: the browser has a random id, Redis what it opens. Neither alone tells the token. */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { openText, sealText } from '../../../api/sealed-text.ts';
import type { RedisClient } from '../../../redis/client.ts';
import {
  findEnded,
  readSession,
  removeSession,
  saveSession,
} from '../../../redis/console/console-sessions.ts';
import { ConsoleError, REDIS_AWAY } from '../http/error.ts';
import type { RedisPresence } from './redis-presence.ts';

export interface Session {
  /** SHA-256 of the id. */
  digest: string;
  token: string;
  user: string;
  /** Where they asked to begin, then their token's own namespace. */
  own: string[];
  /** Unix milliseconds. */
  expiresAt: number;
}

const ID_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{43}$/;
const LONGEST_MS = 8 * 3_600_000;
/** A session that was open so lately goes on while Redis is away. */
const GRACE_MS = 10 * 60_000;
const MAX_KNOWN_SESSIONS = 5_000;

export class Sessions {
  readonly #redis: RedisClient;
  readonly #presence: RedisPresence;
  readonly #clock: () => number;
  /** By digest, the latest used last. */
  readonly #known = new Map<string, { session: Session; seenAt: number }>();

  constructor(redis: RedisClient, presence: RedisPresence, clock: () => number = Date.now) {
    this.#redis = redis;
    this.#presence = presence;
    this.#clock = clock;
  }

  /** `tokenEndsAt`: Unix milliseconds; null where the token does not tell. */
  async begin(
    who: Pick<Session, 'token' | 'user' | 'own'>,
    tokenEndsAt: number | null,
  ): Promise<{ id: string; session: Session }> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const now = this.#clock();
    const expiresAt = Math.min(tokenEndsAt ?? Number.POSITIVE_INFINITY, now + LONGEST_MS);
    const session = { ...who, digest: digestOf(id), expiresAt };
    const { digest, ...sealable } = session;
    const sealed = sealText(JSON.stringify(sealable), [digest], deriveKey(id));
    await saveSession(this.#redis, { sha256: digest, sealed, ttlMs: expiresAt - now });
    return { id, session };
  }

  /** null where there is none (any more). */
  async find(id: string): Promise<Session | null> {
    if (!ID.test(id)) return null;
    const digest = digestOf(id);
    const sealed = await this.#presence.read(() => readSession(this.#redis, digest), undefined);
    if (sealed === undefined) return this.#findKnown(digest);
    const text = sealed && openText(sealed, [digest], deriveKey(id));
    if (!text) {
      this.#known.delete(digest);
      return null;
    }
    const session = { ...(JSON.parse(text) as Omit<Session, 'digest'>), digest };
    if (session.expiresAt <= this.#clock()) return null;
    this.#remember(session);
    return session;
  }

  /** False once somebody signed out; while Redis is away, of one that was open lately, once they did here. */
  async isOpen({ digest, expiresAt }: Session): Promise<boolean> {
    if (expiresAt <= this.#clock()) return false;
    const sealed = await this.#presence.read(() => readSession(this.#redis, digest), undefined);
    return sealed === undefined ? this.#wasSeenLately(digest) : sealed !== null;
  }

  end({ digest }: Session): Promise<void> {
    this.#known.delete(digest);
    return removeSession(this.#redis, digest);
  }

  /** Somebody signed out, maybe at another console. */
  forget(digest: string): void {
    this.#known.delete(digest);
  }

  /** Forgets those that ended while nobody could be told of it. */
  async recheck(): Promise<void> {
    for (const digest of await findEnded(this.#redis, [...this.#known.keys()])) this.forget(digest);
  }

  #remember(session: Session): void {
    this.#known.delete(session.digest);
    this.#known.set(session.digest, { session, seenAt: this.#clock() });
    if (this.#known.size > MAX_KNOWN_SESSIONS) this.#known.delete(this.#known.keys().next().value!);
  }

  #wasSeenLately(digest: string): boolean {
    const known = this.#known.get(digest);
    return known !== undefined && known.seenAt + GRACE_MS > this.#clock();
  }

  /** While Redis is away. Throws temporarily_unavailable for a session that was not open lately. */
  #findKnown(digest: string): Session {
    const known = this.#known.get(digest);
    if (known && known.session.expiresAt > this.#clock() && this.#wasSeenLately(digest)) return known.session;
    throw new ConsoleError('temporarily_unavailable', REDIS_AWAY, { retryAfter: 5 });
  }
}

const digestOf = (id: string) => createHash('sha256').update(id).digest('hex');
const deriveKey = (id: string) => Buffer.from(hkdfSync('sha256', id, 'berth', 'v1/console-session', 32));
