/** Notifies a workspace's owner of callbacks that failed permanently (docs/api.md, "Webhooks"): once each, and not too often. */
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import {
  type AbandonedCallback,
  countMail,
  type DueMail,
  markMailed,
  postponeDigest,
  postponeMail,
  removeMail,
  takeDigest,
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
/** Older mail is dropped if the server still defers it. */
const MAX_AGE_MS = 24 * 3_600_000;

export class OwnerMail {
  readonly #options: OwnerMailOptions;
  readonly #running = new Map<string, Promise<void>>();

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
    const due = await takeMail(redis, namespace, BATCH_SIZE);
    const digest = await takeDigest(redis, namespace);
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
    if (digest.length > 0 && (await this.#send(namespace, owner, digest)) === 'postponed') {
      await postponeDigest(redis, namespace, digest);
      return;
    }
    // The rest is retried in a minute: a server that accepts nothing now is not asked for each.
    for (const mail of due) if ((await this.#notify(namespace, owner, mail)) === 'postponed') return;
  }

  /** Marked before it is sent: at most once. */
  async #notify(namespace: string, owner: string, mail: DueMail): Promise<'done' | 'postponed'> {
    const { redis } = this.#options;
    const { delivery } = mail.callback;
    const isFirst = await markMailed(redis, namespace, delivery);
    if (isFirst && (await countMail(redis, namespace)) > MAX_MAILS_PER_HOUR) {
      await postponeMail(redis, namespace, mail);
      return 'done';
    }
    if (isFirst && (await this.#send(namespace, owner, [mail.callback])) === 'postponed') {
      await unmarkMailed(redis, namespace, mail);
      return 'postponed';
    }
    await removeMail(redis, namespace, mail);
    return 'done';
  }

  /** One message; `postponed` = it was not accepted, and is worth a retry. */
  async #send(
    namespace: string,
    owner: string,
    callbacks: readonly AbandonedCallback[],
  ): Promise<'done' | 'postponed'> {
    const { send, log, clock = Date.now } = this.#options;
    const [first] = callbacks as [AbandonedCallback];
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
