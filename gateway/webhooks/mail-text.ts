/** E-mails to a workspace's owner about failed callbacks: plain text without prompts, and only the host of a URL. Pure. */
import type { AbandonedCallback } from '../../redis/deliveries/owner-mail.ts';

export interface MailText {
  subject: string;
  text: string;
}

/** Cannot start a header or a line of its own. */
const flatten = (text: string): string => text.replace(/[\r\n\u2028\u2029]+/g, ' ').slice(0, 200);

const hostOf = (url: string): string => flatten(URL.parse(url)?.host ?? 'an invalid address');

const FOOTER =
  'The request itself is not affected: its state and its result can be read with GET /v1/requests/{id}.\n' +
  'You receive this message because you are the owner of the workspace.\n';

export function composeFailureMail(namespace: string, callback: AbandonedCallback): MailText {
  return {
    subject: `[Berth] A callback of the workspace ${namespace} failed`,
    text:
      `The event ${flatten(callback.type)} of the request ${flatten(callback.request)} could not be delivered to its ` +
      `callback at ${hostOf(callback.url)}.\n\n` +
      `All 3 attempts failed; the last one: ${flatten(callback.error)}.\n` +
      `It will not be retried (event ${flatten(callback.event)}, delivery ${flatten(callback.delivery)}).\n\n${FOOTER}`,
  };
}

export function composeDigestMail(namespace: string, callbacks: readonly AbandonedCallback[]): MailText {
  const hosts = [...new Set(callbacks.map(({ url }) => hostOf(url)))].sort().slice(0, 20);
  return {
    subject: `[Berth] ${callbacks.length} more callbacks of the workspace ${namespace} failed`,
    text:
      `${callbacks.length} more callbacks could not be delivered in the last hour, at ${hosts.join(', ')}.\n` +
      `None will be retried; the delivery log shows the latest.\n\n${FOOTER}`,
  };
}
