/** The cost of a request, sent to clients that ask for it (docs/api.md, "Receipts"). */
import { formatAmount } from '../../api/amount.ts';
import type { Bill } from './account.ts';

/** Alternating names and values. */
export function formatReceiptHeaders({ usage, micros }: Bill): string[] {
  const headers = ['x-berth-cost', formatAmount(micros)];
  return usage ? [...headers, 'x-berth-tokens', String(usage.totalTokens)] : headers;
}

/** Before the last of these events, after which many clients stop reading; clients ignore comments. */
export function insertReceiptComment(events: string, { usage, micros }: Bill): string {
  const receipt = { cost: formatAmount(micros), ...(usage && { tokens: usage.totalTokens }) };
  const start = findLastEvent(events);
  return `${events.slice(0, start)}: receipt ${JSON.stringify(receipt)}\n\n${events.slice(start)}`;
}

/** Where it starts: after the blank line that ends the previous one. */
function findLastEvent(events: string): number {
  const at = events.lastIndexOf(BLANK, events.trimEnd().length - 1);
  return at < 0 ? 0 : at + BLANK.length;
}

const BLANK = '\n\n';
