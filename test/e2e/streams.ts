/** Users who stream one answer after the other, as many at a time as are wanted. */
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { connect } from './installation.ts';

export interface Streams {
  /** So far. */
  readonly failures: readonly string[];
  /** Streams at a time from here on; those that run are read to their end. */
  limit(count: number): void;
  /** Starts no more, waits for the end of those that run, and tells what was seen. */
  stop(): Promise<{ ended: number; failures: string[] }>;
}

/** Keeps `count` streams running; each must end with a reason, without retries. */
export function keepStreaming(endpoint: EndpointEntry, count: number): Streams {
  const client = connect(endpoint);
  const running = new Set<Promise<void>>();
  const failures: string[] = [];
  let ended = 0;
  let wanted = count;
  const stream = async (): Promise<void> => {
    const messages = [{ role: 'user' as const, content: 'Tell me about harbours.' }];
    let reason: string | null = null;
    const chunks = await client.chat.completions.create({ model: endpoint.modelId, messages, stream: true });
    for await (const chunk of chunks) reason = chunk.choices[0]?.finish_reason ?? reason;
    if (!reason) throw new Error('the stream ended without a reason');
  };
  const fill = (): void => {
    while (running.size < wanted) {
      const one: Promise<void> = stream()
        .then(
          () => void ended++,
          (error: Error) => void failures.push(`${new Date().toISOString().slice(11, 23)} ${error.message}`),
        )
        .finally(() => {
          running.delete(one);
          // Without replicas each would fail at once.
          if (failures.length < MAX_FAILURES) fill();
        });
      running.add(one);
    }
  };
  fill();
  return {
    failures,
    limit: (next) => {
      wanted = next;
      fill();
    },
    stop: async () => {
      wanted = 0;
      while (running.size > 0) await Promise.all(running);
      return { ended, failures };
    },
  };
}

const MAX_FAILURES = 20;
