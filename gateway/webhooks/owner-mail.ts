/** Notifies a workspace's owner of callbacks that failed permanently (docs/api.md, "Webhooks"): once each, and not too often. */
import { randomUUID } from 'node:crypto';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import {
  claimDigest,
  countMail,
  type DueMail,
  markMailed,
  postponeMail,
  removeFromDigest,
  removeMail,
  takeMail,
  unmarkMailed,
} from '../../redis/deliveries/owner-mail.ts';
import type { Logger } from '../telemetry/log.ts';
import { composeDigestMail, composeFailureMail, type MailText } from './mail-text.ts';
import { MailDeferredError } from './mailer.ts';

export interface OwnerMailOptions {
  redis: RedisClient;
  /** null = nobody is notified. */
  readOwner: (namespace: string) => Promise<string | null>;
  /** Throws if the message was not accepted: `MailDeferredError` if it may be later. */
  send: (to: string, mail: MailText) => Promise<void>;
  log: Logger;
  /** Unix milliseconds. */
  clock?: () => number;
}

const BATCH_SIZE = 100;
const MAX_MAILS_PER_HOUR = 20;
/** For another front that does not know whether it marked a mail, and gets it again when due. */
const MARKED_MS = 10 * 60_000;
/** Older mail is dropped if the server still defers it. */
const MAX_AGE_MS = 24 * 3_600_000;

export class OwnerMail {
  readonly #options: OwnerMailOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #id = randomUUID();
  /** Sent, but Redis has not confirmed that they are removed: deliveries, and digests by namespace. */
  readonly #sent = new Set<string>();
  readonly #sentDigests = new Map<string, readonly DueMail[]>();

  constructor(options: OwnerMailOptions) {
    this.#options = options;
  }

  /** There may be mail to send; never throws. */
  wake(namespace: string): void {
    if (this.#running.has(namespace)) return;
    const work = this.#run(namespace)
      .catch((error) => {
        if (!isRedisAway(error))
          this.#options.log.error({ err: error, namespace }, 'owner mail failed, retrying');
      })
      .finally(() => this.#running.delete(namespace));
    this.#running.set(namespace, work);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(namespace: string): Promise<void> {
    const { redis, readOwner, log } = this.#options;
    await this.#confirmDigest(namespace);
    const due = await takeMail(redis, namespace, BATCH_SIZE);
    const digest = await claimDigest(redis, namespace);
    if (due.length + digest.length === 0) return;
    const owner = await readOwner(namespace);
    if (owner === null) {
      log.info(
        { namespace, callbacks: due.length },
        'failed callbacks are not mailed: no ownerEmail or no mail server',
      );
      for (const mail of due) await removeMail(redis, namespace, mail);
      return;
    }
    if (digest.length > 0) {
      // It stays for the next hour.
      if ((await this.#send(namespace, owner, digest)) === 'postponed') return;
      this.#sentDigests.set(namespace, digest);
      await this.#confirmDigest(namespace);
    }
    // The rest is retried in a minute: a server that accepts nothing now is not asked for each.
    for (const mail of due) if ((await this.#notify(namespace, owner, mail)) === 'postponed') return;
  }

  async #confirmDigest(namespace: string): Promise<void> {
    const digest = this.#sentDigests.get(namespace);
    if (!digest) return;
    await removeFromDigest(this.#options.redis, namespace, digest);
    this.#sentDigests.delete(namespace);
  }

  /** Marked before it is sent: at most once. */
  async #notify(namespace: string, owner: string, mail: DueMail): Promise<'done' | 'postponed'> {
    const { redis, clock = Date.now } = this.#options;
    const { delivery, at } = mail.callback;
    const mark = this.#sent.has(delivery) ? 'done' : await markMailed(redis, namespace, delivery, this.#id);
    if (mark === 'other' && clock() - at < MARKED_MS) return 'done';
    const isOwn = mark === 'own';
    if (isOwn && (await countMail(redis, namespace)) > MAX_MAILS_PER_HOUR) {
      await postponeMail(redis, namespace, mail);
      return 'done';
    }
    if (isOwn && (await this.#send(namespace, owner, [mail])) === 'postponed') {
      await unmarkMailed(redis, namespace, mail);
      return 'postponed';
    }
    if (isOwn) this.#sent.add(delivery);
    await removeMail(redis, namespace, mail);
    this.#sent.delete(delivery);
    return 'done';
  }

  /** One message; `postponed` = it was not accepted, and is worth a retry. */
  async #send(namespace: string, owner: string, mails: readonly DueMail[]): Promise<'done' | 'postponed'> {
    const { send, log, clock = Date.now } = this.#options;
    const callbacks = mails.map(({ callback }) => callback);
    const first = callbacks[0]!;
    const text =
      callbacks.length === 1 ? composeFailureMail(namespace, first) : composeDigestMail(namespace, callbacks);
    try {
      await send(owner, text);
    } catch (error) {
      if (error instanceof MailDeferredError && clock() - first.at < MAX_AGE_MS) {
        log.warn({ err: error, namespace }, 'owner mail deferred');
        return 'postponed';
      }
      log.error({ err: error, namespace }, 'owner mail failed');
    }
    return 'done';
  }
}
