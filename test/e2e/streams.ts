/** Users who stream one answer after the other, as many at a time as are wanted. */
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { callChat } from '../support/chat.ts';
import { describeError } from './traffic.ts';
import { readWholeStream } from './whole-stream.ts';

/** What was seen so far. */
export interface StreamsSeen {
  ended: number;
  /** Those that got another status than 200; they are failures, too. */
  refused: number;
  /** The longest time that a client got nothing, from its request to its first token included. */
  longestSilenceMs: number;
  failures: string[];
}

export interface Streams {
  readonly seen: Readonly<StreamsSeen>;
  /** Streams at a time from here on; those that run are read to their end. */
  limit(count: number): void;
  /** Starts no more, waits for the end of those that run, and tells what was seen. */
  stop(): Promise<StreamsSeen>;
}

const MESSAGES = [{ role: 'user', content: 'Tell me about harbours.' }];
const MAX_FAILURES = 20;

/** Keeps `count` streams running, without retries; each must be whole, have so many tokens, and say what the first one said. */
export function keepStreaming(
  { baseURL, apiKey, modelId }: EndpointEntry,
  count: number,
  { tokens }: { tokens: number },
): Streams {
  const running = new Set<Promise<void>>();
  const seen: StreamsSeen = { ended: 0, refused: 0, longestSilenceMs: 0, failures: [] };
  let wanted = count;
  let expected: string | undefined;
  const stream = async (): Promise<void> => {
    const sentAt = performance.now();
    const body = { model: modelId, stream: true, messages: MESSAGES };
    const answer = await callChat(baseURL, { key: apiKey, body });
    if (answer.status !== 200) {
      seen.refused++;
      throw new Error(`${answer.status} ${await answer.text()}`);
    }
    const whole = await readWholeStream(answer.body!, sentAt);
    seen.longestSilenceMs = Math.max(seen.longestSilenceMs, whole.longestSilenceMs);
    const text = whole.tokens.join('');
    expected ??= text;
    if (whole.tokens.length !== tokens || text !== expected)
      throw new Error(`${whole.tokens.length} of ${tokens} tokens: ${text}; expected: ${expected}`);
    seen.ended++;
  };
  const fill = (): void => {
    while (running.size < wanted) {
      const one: Promise<void> = stream()
        .catch(
          (error: Error) =>
            void seen.failures.push(`${new Date().toISOString().slice(11, 23)} ${describeError(error)}`),
        )
        .finally(() => {
          running.delete(one);
          // Without replicas each would fail at once.
          if (seen.failures.length < MAX_FAILURES) fill();
        });
      running.add(one);
    }
  };
  fill();
  return {
    seen,
    limit: (next) => {
      wanted = next;
      fill();
    },
    stop: async () => {
      wanted = 0;
      while (running.size > 0) await Promise.all(running);
      return seen;
    },
  };
}
