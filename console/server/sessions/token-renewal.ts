/** Renews the ID tokens of sessions by OIDC before they end: one console at a time, since a refresh token may be used only once. */
import { type Clock, sleep, systemClock } from '../../../kit/clock.ts';
import type { Logger } from '../../../kit/log.ts';
import { retry } from '../../../kit/retry.ts';
import { isRedisAway, type RedisClient } from '../../../redis/client.ts';
import {
  lockRenewal,
  readSession,
  removeSession,
  replaceSession,
  unlockRenewal,
} from '../../../redis/console/console-sessions.ts';
import { ConsoleError } from '../http/error.ts';
import type { Issuer, Tokens } from '../oidc/issuer.ts';
import { IssuerError } from '../oidc/issuer-error.ts';
import type { Session, SessionSeal, TokenRenewalState } from './session.ts';

/** Renewed this long before it ends, or in the last third of its time if that is shorter. */
const MARGIN_MS = 120_000;
/** Longer than the calls that a renewal may need: two of the issuer, and the save. */
const LOCK_MS = 40_000;
/** The old refresh token is no longer valid, so a save is worth several attempts. */
const SAVE_BACKOFF = { baseMs: 200, maxMs: 2_000 };
const MAX_SAVE_MS = 10_000;
const ISSUER_RETRY_MS = 5_000;
/** While another console renews a token that has ended. */
const WAIT_STEP_MS = 200;
const MAX_WAIT_MS = 5_000;
/** How long pages wait for an unavailable issuer before they offer to sign in by other means. */
const GRACE_MS = 60_000;

type Renewed = Pick<Session, 'token' | 'oidc'>;
type Outcome = Renewed | 'ended' | 'pending';

export interface TokenRenewalOptions {
  redis: RedisClient;
  issuer: Pick<Issuer, 'renew' | 'revoke' | 'provider'>;
  log: Logger;
  clock?: Clock;
}

export class TokenRenewal {
  readonly #options: TokenRenewalOptions;
  readonly #clock: Clock;
  readonly #running = new Map<string, Promise<Outcome>>();
  #issuerRetryAt = 0;

  constructor(options: TokenRenewalOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Renews the session's token in place if it is time. False if the session has ended. Throws temporarily_unavailable, and
   * later not_signed_in, if the token has ended and cannot be renewed now.
   */
  async refresh(session: Session, seal: SessionSeal): Promise<boolean> {
    if (!session.oidc?.refreshToken || this.#now() < session.oidc.renewAt) return true;
    const { digest } = session;
    let running = this.#running.get(digest);
    if (!running) {
      running = this.#renew(session, seal).finally(() => this.#running.delete(digest));
      this.#running.set(digest, running);
    }
    const outcome = await running;
    if (outcome === 'ended') return false;
    if (outcome === 'pending') this.#refuseEnded(session.oidc);
    else Object.assign(session, outcome);
    return true;
  }

  async #renew(session: Session, seal: SessionSeal): Promise<Outcome> {
    const { redis } = this.#options;
    const { digest } = session;
    if (this.#now() < this.#issuerRetryAt) return 'pending';
    try {
      if (!(await lockRenewal(redis, digest, LOCK_MS))) return await this.#awaitOther(session, seal);
      try {
        // Another console may have renewed it before this one had the lock.
        const stored = await this.#readNewer(session, seal);
        return stored === 'pending' ? await this.#renewLocked(session, seal) : stored;
      } finally {
        await unlockRenewal(redis, digest);
      }
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      return 'pending';
    }
  }

  async #renewLocked(session: Session, { seal }: SessionSeal): Promise<Outcome> {
    const { redis, issuer, log } = this.#options;
    const { digest: sha256, user } = session;
    const { refreshToken, subject } = session.oidc as { refreshToken: string; subject: string };
    try {
      const tokens = await issuer.renew({ refreshToken, subject });
      const renewed = { token: tokens.idToken, oidc: describeTokens(tokens, this.#now()) };
      if (await this.#save(sha256, seal({ ...session, ...renewed }))) return renewed;
      // Signed out meanwhile.
      await issuer.revoke(renewed.oidc.refreshToken!).catch(() => {});
      return 'ended';
    } catch (error) {
      if (!(error instanceof IssuerError)) throw error;
      if (error.kind === 'rejected' || error.kind === 'denied') {
        log.info({ user, reason: error.message }, 'session not renewed by the OIDC issuer');
        await removeSession(redis, sha256);
        return 'ended';
      }
      log.warn({ user, kind: error.kind, reason: error.message }, 'OIDC token not renewed, retrying');
      this.#issuerRetryAt = this.#now() + ISSUER_RETRY_MS;
      return 'pending';
    }
  }

  #save(sha256: string, sealed: string): Promise<boolean> {
    const until = this.#now() + MAX_SAVE_MS;
    return retry(() => replaceSession(this.#options.redis, { sha256, sealed }), {
      backoff: SAVE_BACKOFF,
      isTransient: (error) => isRedisAway(error) && this.#now() < until,
      clock: this.#clock,
    });
  }

  /** A token that is still valid is used meanwhile. */
  async #awaitOther(session: Session, seal: SessionSeal): Promise<Outcome> {
    const until = this.#now() + MAX_WAIT_MS;
    while (session.oidc!.endsAt <= this.#now() && this.#now() < until) {
      await sleep(this.#clock, WAIT_STEP_MS);
      const newer = await this.#readNewer(session, seal);
      if (newer !== 'pending') return newer;
    }
    return 'pending';
  }

  /** `pending` if nobody has renewed it. */
  async #readNewer({ digest, token }: Session, { open }: SessionSeal): Promise<Outcome> {
    const sealed = await readSession(this.#options.redis, digest);
    const stored = sealed === null ? null : open(sealed);
    if (stored === null) return 'ended';
    return stored.token === token ? 'pending' : { token: stored.token, oidc: stored.oidc };
  }

  #refuseEnded({ endsAt }: TokenRenewalState): void {
    const overdueMs = this.#now() - endsAt;
    if (overdueMs < 0) return;
    const message = `${this.#options.issuer.provider} is unreachable, so your session could not be renewed.`;
    if (overdueMs > GRACE_MS) throw new ConsoleError('not_signed_in', `${message} Sign in with a token.`);
    throw new ConsoleError('temporarily_unavailable', `${message} Retrying…`, { retryAfter: 5 });
  }

  #now(): number {
    return this.#clock.date().getTime();
  }
}

/** `now`: Unix milliseconds. */
export function describeTokens(
  { subject, refreshToken, endsAt }: Omit<Tokens, 'idToken'>,
  now: number,
): TokenRenewalState {
  const margin = Math.min(MARGIN_MS, Math.max(0, endsAt - now) / 3);
  return { subject, refreshToken, endsAt, renewAt: endsAt - margin };
}
