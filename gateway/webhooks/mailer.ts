/** The owner of nodemailer: messages over SMTP. */
import { createTransport } from 'nodemailer';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import type { MailText } from './mail-text.ts';

export interface MailerOptions {
  /** smtp://user:password@host:587, or smtps://; asked for each message, since it may change. Throws where there is none. */
  readURL: () => string;
  /** Address that messages come from. */
  from: string;
}

/** The server did not take the message, and may take it later. */
export class MailDeferredError extends Error {}

export interface Mailer {
  /** Throws where the server did not take the message, or may not have; `MailDeferredError` where it may later. */
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

/** A setting that is wrong is somebody's to mend, and no message's fault. */
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
      // A message is text that we wrote: nothing in it is to be fetched or read from disk.
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

  /** What it was given before is still sent: the pool would drop what waits for a connection. */
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

/** Not where the connection broke off in mid-message: the server may have taken it, and there must be no second one. */
function isTransientSMTPError({
  code,
  originalCode,
  responseCode,
  permanent,
  message,
}: SMTPFailure): boolean {
  // The password is ours to set right, and no fault of the message.
  if (code === 'EAUTH') return true;
  if (responseCode !== undefined) return permanent !== true;
  if (code === 'ETIMEDOUT') return /^(Connection timeout|Greeting never received)/.test(message);
  const failure = readConnectionFailure({ code: originalCode });
  return code === 'EDNS' || failure === 'refused' || failure === 'unreachable';
}
