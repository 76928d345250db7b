/** Tells a workspace's owner of callbacks that failed for good (contract: Delivery rules, 6): once each, and not too often. */
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import {
  countMail,
  type DueMail,
  markMailed,
  postponeMail,
  removeMail,
  takeDigest,
  takeMail,
} from '../../redis/owner-mail.ts';
import type { Logger } from '../log.ts';
import { describeFailure, describeMany, type MailText } from './mail-text.ts';

export interface OwnerMailOptions {
  redis: RedisClient;
  /** null = nobody is told. */
  readOwner: (namespace: string) => Promise<string | null>;
  /** Throws where the message was not taken. */
  send: (to: string, mail: MailText) => Promise<void>;
  log: Logger;
}

const AT_ONCE = 100;
const MOST_AN_HOUR = 20;

export class OwnerMail {
  readonly #options: OwnerMailOptions;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: OwnerMailOptions) {
    this.#options = options;
  }

  /** There may be something to tell; never throws. */
  wake(namespace: string): void {
    if (this.#running.has(namespace)) return;
    const work = this.#run(namespace)
      .catch((error) => {
        if (!isRedisAway(error)) this.#options.log.error({ err: error, namespace }, 'owner mail is held up');
      })
      .finally(() => this.#running.delete(namespace));
    this.#running.set(namespace, work);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(namespace: string): Promise<void> {
    const { redis, readOwner, log } = this.#options;
    const due = await takeMail(redis, namespace, AT_ONCE);
    const digest = await takeDigest(redis, namespace);
    if (due.length + digest.length === 0) return;
    const owner = await readOwner(namespace);
    if (owner === null) {
      log.info({ namespace, callbacks: due.length }, 'nobody is told of failed callbacks: no ownerEmail');
      for (const mail of due) await removeMail(redis, namespace, mail);
      return;
    }
    if (digest.length > 0) await this.#send(namespace, owner, describeMany(namespace, digest));
    for (const mail of due) await this.#tell(namespace, owner, mail);
  }

  /** Marked before it is sent: rather none than two. */
  async #tell(namespace: string, owner: string, mail: DueMail): Promise<void> {
    const { redis } = this.#options;
    const isFirst = await markMailed(redis, namespace, mail.callback.delivery);
    if (isFirst && (await countMail(redis, namespace)) > MOST_AN_HOUR) {
      await postponeMail(redis, namespace, mail);
      return;
    }
    if (isFirst) await this.#send(namespace, owner, describeFailure(namespace, mail.callback));
    await removeMail(redis, namespace, mail);
  }

  async #send(namespace: string, owner: string, text: MailText): Promise<void> {
    const { send, log } = this.#options;
    await send(owner, text).catch((error) =>
      log.error({ err: error, namespace }, 'the owner could not be told of failed callbacks'),
    );
  }
}
