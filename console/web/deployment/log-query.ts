/** Follows a container's log while the page shows it. */
import { useEffect, useState } from 'react';
import { send } from '../client/call.ts';
import { LogBuffer } from './log-buffer.ts';

/** How often the text on the page is renewed, at most. */
const SHOW_INTERVAL_MS = 250;

export interface ShownLog {
  text: string;
  state: 'connecting' | 'live' | 'ended';
  error: Error | null;
}

const EMPTY: ShownLog = { text: '', state: 'connecting', error: null };

/** `path` null: none. A change of `turn` starts over. */
export function useLog(path: string | null, turn: number): ShownLog {
  const [log, setLog] = useState(EMPTY);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `turn` asks to start over
  useEffect(() => {
    setLog(EMPTY);
    if (path === null) return;
    const leaving = new AbortController();
    void follow(path, leaving.signal, setLog);
    return () => leaving.abort();
  }, [path, turn]);
  return log;
}

async function follow(path: string, signal: AbortSignal, show: (log: ShownLog) => void): Promise<void> {
  const buffer = new LogBuffer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const showNow = (state: ShownLog['state'], error: Error | null = null) => {
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) show({ text: buffer.text, state, error });
  };
  try {
    const { body } = await send('GET', path, undefined, signal);
    showNow('live');
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      buffer.add(value);
      timer ??= setTimeout(() => showNow('live'), SHOW_INTERVAL_MS);
    }
    showNow('ended');
  } catch (error) {
    showNow('ended', error as Error);
  }
}
