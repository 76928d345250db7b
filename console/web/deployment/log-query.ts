/** Follows a container's log while the page shows it. */
import { useEffect, useState } from 'react';
import { type Args, type ParamsOf, routes } from '../../routes.ts';
import { send } from '../client/call.ts';
import { LogBuffer } from './log-buffer.ts';

/** How often the text on the page is renewed, at most. */
const SHOW_INTERVAL_MS = 250;

export interface ShownLog {
  text: string;
  state: 'connecting' | 'live' | 'ended';
  error: Error | null;
}

type LogArgs = ParamsOf<typeof routes.readLog> & Args;

const EMPTY: ShownLog = { text: '', state: 'connecting', error: null };

/** A change of `turn` starts over. */
export function useLog(of: LogArgs, turn: number): ShownLog {
  const [log, setLog] = useState(EMPTY);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `turn` asks to start over; `of` is another object each time
  useEffect(() => {
    setLog(EMPTY);
    const leaving = new AbortController();
    void follow(of, leaving.signal, setLog);
    return () => leaving.abort();
  }, [JSON.stringify(of), turn]);
  return log;
}

async function follow(of: LogArgs, signal: AbortSignal, show: (log: ShownLog) => void): Promise<void> {
  const buffer = new LogBuffer();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const showNow = (state: ShownLog['state'], error: Error | null = null) => {
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) show({ text: buffer.text, state, error });
  };
  try {
    const { body } = await send(routes.readLog, of, undefined, signal);
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
