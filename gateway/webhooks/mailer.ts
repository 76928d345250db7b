/** The owner of nodemailer: messages over SMTP. */
import { createTransport } from 'nodemailer';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import type { MailText } from './mail-text.ts';

export interface MailerOptions {
  /** smtp://user:password@host:587, or smtps://; read for each message, since it may change. Throws if there is none. */
  readURL: () => string;
  /** Sender address. */
  from: string;
}

/** The server did not accept the message, but may later. */
export class MailDeferredError extends Error {}

export interface Mailer {
  /** Throws if the server did not accept the message, or may not have; `MailDeferredError` if it may later. */
  send(to: string, mail: MailText): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 10_000;

export function createMailer({ readURL, from }: MailerOptions): Mailer {
  let server: MailServer | null = null;
  const findServer = (): MailServer => {
    const url = readURL();
    if (server?.url === url) return server;
    const next = new MailServer(url);
    server?.close();
    server = next;
    return server;
  };
  return {
    send: async (to, { subject, text }) => deferOnError(findServer).send({ from, to, subject, text }),
    close: () => server?.close(),
  };
}

/** Wrong settings must be fixed by someone, and are not the message's fault. */
function deferOnError<T>(find: () => T): T {
  try {
    return find();
  } catch (error) {
    throw new MailDeferredError((error as Error).message, { cause: error });
  }
}

/** The connections to one server under one name. */
class MailServer {
  readonly url: string;
  readonly #transport;
  #underWay = 0;
  #isClosed = false;

  constructor(url: string) {
    this.url = url;
    this.#transport = createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // Messages are our own text: nothing in them is fetched or read from disk.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  async send(message: { from: string; to: string; subject: string; text: string }): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#transport.sendMail(message);
    } catch (error) {
      throw isTransientSMTPError(error as SMTPFailure)
        ? new MailDeferredError((error as Error).message, { cause: error })
        : error;
    } finally {
      this.#underWay -= 1;
      this.#endWhenIdle();
    }
  }

  /** Earlier messages are still sent: the pool would drop those that wait for a connection. */
  close(): void {
    this.#isClosed = true;
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (this.#isClosed && this.#underWay === 0) this.#transport.close();
  }
}

type SMTPFailure = Error & {
  code?: string;
  originalCode?: string;
  responseCode?: number;
  permanent?: boolean;
};

/** Not if the connection broke mid-message: the server may have accepted it, and must not get it twice. */
function isTransientSMTPError({
  code,
  originalCode,
  responseCode,
  permanent,
  message,
}: SMTPFailure): boolean {
  // A wrong password is a configuration error, not the message's fault.
  if (code === 'EAUTH') return true;
  if (responseCode !== undefined) return permanent !== true;
  if (code === 'ETIMEDOUT') return /^(Connection timeout|Greeting never received)/.test(message);
  const failure = readConnectionFailure({ code: originalCode });
  return code === 'EDNS' || failure === 'refused' || failure === 'unreachable';
}
