/** The owner of nodemailer: messages over SMTP. */
import { createTransport } from 'nodemailer';
import type { MailText } from './mail-text.ts';

export interface MailerOptions {
  /** smtp://user:password@host:587, or smtps://. */
  url: string;
  /** Address that messages come from. */
  from: string;
}

/** The server did not take the message, and may take it later. */
export class MailPostponed extends Error {}

export interface Mailer {
  /** Throws where the server did not take the message, or may not have; `MailPostponed` where it may later. */
  send(to: string, mail: MailText): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 10_000;

export function createMailer({ url, from }: MailerOptions): Mailer {
  const transport = createTransport({
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
  return {
    send: async (to, { subject, text }) => {
      try {
        await transport.sendMail({ from, to, subject, text });
      } catch (error) {
        throw mayBeTakenLater(error as SMTPFailure)
          ? new MailPostponed((error as Error).message, { cause: error })
          : error;
      }
    },
    close: () => transport.close(),
  };
}

type SMTPFailure = Error & {
  code?: string;
  originalCode?: string;
  responseCode?: number;
  permanent?: boolean;
};

const NOT_CONNECTED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Not where the connection broke off in mid-message: the server may have taken it, and there must be no second one. */
function mayBeTakenLater({ code, originalCode, responseCode, permanent, message }: SMTPFailure): boolean {
  if (responseCode !== undefined) return permanent !== true;
  if (code === 'ETIMEDOUT') return /^(Connection timeout|Greeting never received)/.test(message);
  return code === 'EDNS' || NOT_CONNECTED.has(originalCode ?? '');
}
