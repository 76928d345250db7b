/** What one request is charged: measured by what serves it, charged once, and told to a client that asks for a receipt. */
import { formatAmount } from '../../api/amount.ts';

export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Input tokens that the engine had cached. */
  cachedInputTokens: number;
}

/** A request's usage and price. */
export interface Bill {
  /** null if it is not charged by tokens. */
  usage: TokenUsage | null;
  /** Whole millionths of the currency of prices. */
  micros: number;
}

/** Budgets of a key when its request was admitted. */
export interface AdmittedBudgets {
  /** For the calls that charge. */
  text: string;
  /** Millionths, of the one that has least left. */
  leftMicros: number;
  /** When Redis was asked, by the monotonic clock. */
  asOf: number;
}

/** Whose usage it is. */
export interface Payer {
  /** Hash of the API key. */
  keyHash: string;
  budgets?: AdmittedBudgets | null;
}

/** Knows what a request has used so far. */
export interface Meter {
  /** Charges it; null if nothing was used. */
  charge(): Bill | null;
}

export class Account {
  /** null until charged, and if nothing was used. */
  bill: Bill | null = null;
  /** Set by what serves the request. A chat's is of a class: with a closure, requests came into V8's old space (`make bench`, promoted KB/request). */
  meter: Meter | null = null;
  /** The deployment that answers; null if there is only one version. */
  version: string | null = null;
  readonly #isReceiptRequested: boolean;

  constructor(isReceiptRequested: boolean) {
    this.#isReceiptRequested = isReceiptRequested;
  }

  /** Charges what was used so far, once: right before the end of a response is sent, else when the request ends. */
  settle(): void {
    if (!this.bill && this.meter) this.bill = this.meter.charge();
  }

  /** Headers of a complete response, alternating names and values; none unless the client asks for a receipt. */
  receiptHeaders(): string[] {
    if (!this.#isReceiptRequested) return [];
    this.settle();
    return this.bill ? formatReceiptHeaders(this.bill) : [];
  }

  /** The last events of a stream, whose head was sent before usage was known; with a receipt if the client asks for it. */
  addReceipt(events: string): string {
    if (!this.#isReceiptRequested) return events;
    this.settle();
    return this.bill ? insertReceiptComment(events, this.bill, this.version) : events;
  }
}

/** A receipt (docs/api.md, "Receipts"). Alternating names and values. */
function formatReceiptHeaders({ usage, micros }: Bill): string[] {
  const headers = ['x-berth-cost', formatAmount(micros)];
  return usage ? [...headers, 'x-berth-tokens', String(usage.totalTokens)] : headers;
}

/** As JSON has it. */
export const describeReceipt = ({ usage, micros }: Bill) => ({
  cost: formatAmount(micros),
  ...(usage && { tokens: usage.totalTokens }),
});

/** Before the last of these events, after which many clients stop reading; clients ignore comments. */
export function insertReceiptComment(events: string, bill: Bill, version: string | null = null): string {
  const receipt = { ...describeReceipt(bill), ...(version !== null && { version }) };
  const start = findLastEvent(events);
  return `${events.slice(0, start)}: receipt ${JSON.stringify(receipt)}\n\n${events.slice(start)}`;
}

/** Where it starts: after the blank line that ends the previous one. */
function findLastEvent(events: string): number {
  const at = events.lastIndexOf(BLANK, events.trimEnd().length - 1);
  return at < 0 ? 0 : at + BLANK.length;
}

const BLANK = '\n\n';
