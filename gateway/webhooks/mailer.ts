/** The owner of nodemailer: messages over SMTP. */
import { createTransport } from 'nodemailer';
import type { MailText } from './mail-text.ts';

export interface MailerOptions {
  /** smtp://user:password@host:587, or smtps://. */
  url: string;
  /** Address that messages come from. */
  from: string;
}

export interface Mailer {
  /** Throws where the server did not take the message. */
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
      await transport.sendMail({ from, to, subject, text });
    },
    close: () => transport.close(),
  };
}
