/** A streamed chat as it arrives, which must be whole: SDKs overlook a second end, and what comes after it. */

export interface WholeStream {
  /** In the order of their coming. */
  tokens: string[];
  /** Between two tokens, or from `sentAt` to the first. */
  longestSilenceMs: number;
}

interface Frame {
  error?: unknown;
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
}

const DATA = 'data: ';
const DONE = '[DONE]';

/** Throws what is wrong unless all tokens come before one finish reason, and one [DONE] ends it. `sentAt`: by performance.now(). */
export async function readWholeStream(
  body: ReadableStream<Uint8Array>,
  sentAt: number,
): Promise<WholeStream> {
  let text = '';
  let heardAt = sentAt;
  let longestSilenceMs = 0;
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    // Comments carry no data.
    if (!part.includes(DATA)) continue;
    const now = performance.now();
    longestSilenceMs = Math.max(longestSilenceMs, now - heardAt);
    heardAt = now;
  }
  return { tokens: readTokens(text), longestSilenceMs };
}

function readTokens(text: string): string[] {
  const refuse = (what: string) =>
    new Error(`${what} in a stream that ends with ${JSON.stringify(text.slice(-300))}`);
  const frames = text
    .split('\n\n')
    .filter((frame) => frame.startsWith(DATA))
    .map((frame) => frame.slice(DATA.length));
  const ends = frames.filter((frame) => frame === DONE).length;
  if (ends !== 1 || frames.at(-1) !== DONE) throw refuse(`${ends} [DONE]`);
  const tokens: string[] = [];
  let reasons = 0;
  for (const frame of frames.slice(0, -1)) {
    const { error, choices = [] } = JSON.parse(frame) as Frame;
    if (error !== undefined) throw refuse('an error');
    for (const { delta, finish_reason } of choices) {
      if (delta?.content && reasons > 0) throw refuse('a token after the finish reason');
      if (delta?.content) tokens.push(delta.content);
      if (finish_reason) reasons++;
    }
  }
  if (reasons !== 1) throw refuse(`${reasons} finish reasons`);
  return tokens;
}
