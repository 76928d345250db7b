/** What a request cost, told to a client that asks for it (docs/api.md, "Receipts"). */
import { formatAmount } from '../../api/amount.ts';
import type { Bill } from './exchange.ts';

/** Alternating names and values. */
export function formatReceiptHeaders({ usage, micros }: Bill): string[] {
  const headers = ['x-berth-cost', formatAmount(micros)];
  return usage ? [...headers, 'x-berth-tokens', String(usage.totalTokens)] : headers;
}

/** Clients of event streams pass over comments. */
export function formatReceiptComment({ usage, micros }: Bill): string {
  const receipt = { cost: formatAmount(micros), ...(usage && { tokens: usage.totalTokens }) };
  return `: receipt ${JSON.stringify(receipt)}\n\n`;
}
