/** What an answer took, as the browser saw it. Pure. */

/** As engines report it. */
export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
}

/** Times of one clock, in milliseconds; null before the first token. */
export interface AnswerTimes {
  sentAt: number;
  firstAt: number | null;
  lastAt: number | null;
}

/** A shorter answer came in one piece: its rate would be that of the network. */
const MIN_SPAN_MS = 20;

const count = new Intl.NumberFormat('en');
const rate = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** Such as "12 prompt tokens · 34 tokens · first token after 120 ms · 51.3 tokens/s", as far as it is known. */
export function describeAnswer({ sentAt, firstAt, lastAt }: AnswerTimes, usage: Usage | null): string {
  const { prompt_tokens: prompt, completion_tokens: tokens } = usage ?? {};
  const spanMs = firstAt === null || lastAt === null ? 0 : lastAt - firstAt;
  // The first token ends the wait, and is no part of the rate.
  const perSecond =
    tokens !== undefined && tokens > 1 && spanMs >= MIN_SPAN_MS ? ((tokens - 1) * 1_000) / spanMs : null;
  return [
    prompt !== undefined && `${count.format(prompt)} prompt ${prompt === 1 ? 'token' : 'tokens'}`,
    tokens !== undefined && `${count.format(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`,
    firstAt !== null && `first token after ${describeWait(firstAt - sentAt)}`,
    perSecond !== null && `${rate.format(perSecond)} tokens/s`,
  ]
    .filter((part) => part !== false)
    .join(' · ');
}

const describeWait = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
