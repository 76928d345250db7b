/** Who is signed in: the browser has a random id, Redis what it opens. Neither alone tells the token. */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { openText, sealText } from '../../contract/sealed-text.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readSession, removeSession, saveSession } from '../../redis/console-sessions.ts';

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

export class Sessions {
  readonly #redis: RedisClient;
  readonly #clock: () => number;

  constructor(redis: RedisClient, clock: () => number = Date.now) {
    this.#redis = redis;
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
    const sealed = await readSession(this.#redis, digest);
    const text = sealed && openText(sealed, [digest], deriveKey(id));
    if (!text) return null;
    const session = { ...(JSON.parse(text) as Omit<Session, 'digest'>), digest };
    return session.expiresAt > this.#clock() ? session : null;
  }

  /** False once somebody signed out. */
  async isOpen({ digest, expiresAt }: Session): Promise<boolean> {
    return expiresAt > this.#clock() && (await readSession(this.#redis, digest)) !== null;
  }

  end({ digest }: Session): Promise<void> {
    return removeSession(this.#redis, digest);
  }
}

const digestOf = (id: string) => createHash('sha256').update(id).digest('hex');
const deriveKey = (id: string) => Buffer.from(hkdfSync('sha256', id, 'berth', 'v1/console-session', 32));
