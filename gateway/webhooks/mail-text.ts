/** E-mails to a workspace's owner about failed callbacks and budgets: plain text without prompts, and only the host of a URL. Pure. */
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

interface BudgetData {
  budget?: unknown;
  name?: unknown;
  threshold?: unknown;
  spent?: unknown;
  amount?: unknown;
  period?: unknown;
  period_ends_at?: unknown;
}

/** A workspace's own Redis user may have written anything. */
function readBudget(body: string): BudgetData {
  try {
    return (JSON.parse(body) as { data?: BudgetData }).data ?? {};
  } catch {
    return {};
  }
}

function describeBudget(body: string): string {
  const { budget, name, threshold, spent, amount, period, period_ends_at: end } = readBudget(body);
  const time = new Date(typeof end === 'number' ? end * 1_000 : Number.NaN);
  const until = Number.isNaN(time.getTime()) ? '' : ` Its next period begins at ${time.toISOString()}.`;
  const [who, reached, used, all, each] = [name, threshold, spent, amount, period].map((part) =>
    flatten(typeof part === 'string' || typeof part === 'number' ? String(part) : '?'),
  );
  return (
    `The budget of the ${budget === 'owner' ? 'owner' : 'API key'} ${who} has reached ${reached} %: ` +
    `${used} of ${all} per ${each!.toLowerCase()} are spent.${until}`
  );
}

function composeBudgetMail(namespace: string, body: string): MailText {
  return {
    subject: `[Berth] A budget of the workspace ${namespace} is running out`,
    text:
      `${describeBudget(body)}\n\nRequests that find it used up are refused until then, or until it is raised.\n` +
      'You receive this message because you are the owner of the workspace.\n',
  };
}

export function composeFailureMail(namespace: string, callback: AbandonedCallback): MailText {
  if (callback.body !== undefined) return composeBudgetMail(namespace, callback.body);
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
  const budgets = callbacks.flatMap(({ body }) => (body === undefined ? [] : [describeBudget(body)]));
  const failed = callbacks.filter(({ body }) => body === undefined);
  if (failed.length === 0) return composeBudgetDigest(namespace, budgets);
  const hosts = [...new Set(failed.map(({ url }) => hostOf(url)))].sort().slice(0, 20);
  const more = budgets.length > 0 ? `${listBudgets(budgets)}\n\n` : '';
  return {
    subject: `[Berth] ${failed.length} more callbacks of the workspace ${namespace} failed`,
    text:
      `${more}${failed.length} more callbacks could not be delivered in the last hour, at ${hosts.join(', ')}.\n` +
      `None will be retried; the delivery log shows the latest.\n\n${FOOTER}`,
  };
}

const MAX_LISTED = 20;

const listBudgets = (budgets: readonly string[]): string =>
  [
    ...budgets.slice(0, MAX_LISTED),
    ...(budgets.length > MAX_LISTED ? [`${budgets.length - MAX_LISTED} more budgets are running out.`] : []),
  ].join('\n');

const composeBudgetDigest = (namespace: string, budgets: readonly string[]): MailText => ({
  subject: `[Berth] ${budgets.length} more budgets of the workspace ${namespace} are running out`,
  text: `${listBudgets(budgets)}\n\nYou receive this message because you are the owner of the workspace.\n`,
});
