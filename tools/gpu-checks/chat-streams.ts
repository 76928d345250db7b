/** Streams of chats, and when they begin. */
import { askUntilAccepted, post, requireOk } from './endpoint.ts';

/** Token of an answer, or of what is thought before it. */
const TOKEN = /"(content|reasoning|reasoning_content)": ?"[^"]/;
/** Token of an answer alone. */
export const CONTENT = /"content": ?"[^"]/;

export interface StreamOptions {
  signal?: AbortSignal;
  /** Instead of KEY. */
  key?: string;
  /** What it begins with. */
  start?: RegExp;
  /** Asks once, and is refused where there is no place on the engine. */
  isHasty?: boolean;
}

export interface ChatStream {
  id: string;
  /** Resolves once it has text, at its end at the latest. */
  begun: Promise<void>;
  text: Promise<string>;
}

/** Waits for a place on the engine, unless it is hasty. Throws for a refusal. */
export async function openChat(fields: object, options: StreamOptions = {}): Promise<ChatStream> {
  const { start = TOKEN, isHasty = false, ...sending } = options;
  const ask = () => post('/chat/completions', { stream: true, ...fields }, sending);
  const response = await requireOk(await (isHasty ? ask() : askUntilAccepted(ask, sending.signal)));
  const begun = Promise.withResolvers<void>();
  const read = async () => {
    let text = '';
    let hasBegun = false;
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      // Once: a long answer is not searched again with each piece.
      if (hasBegun || !start.test(text)) continue;
      hasBegun = true;
      begun.resolve();
    }
    return text;
  };
  const text = read().finally(begun.resolve);
  // Reported once all have ended.
  text.catch(() => {});
  return { id: response.headers.get('x-request-id') ?? '', begun: begun.promise, text };
}

export interface TimedChat {
  text: string;
  /** From the first attempt to the first token. */
  firstMs: number;
}

/** To its end; `onBegin` is called with its first token. */
export async function streamChat(
  fields: object,
  { onBegin, ...options }: StreamOptions & { onBegin?: () => void } = {},
): Promise<TimedChat> {
  const start = performance.now();
  const stream = await openChat(fields, options);
  await stream.begun;
  const firstMs = performance.now() - start;
  onBegin?.();
  return { text: await stream.text, firstMs };
}

export const isWhole = (text: string, reasons = 'length'): boolean =>
  /data: \[DONE\]\s*$/.test(text) && new RegExp(`"finish_reason": ?"(${reasons})"`).test(text);
