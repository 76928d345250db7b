/** One deployment's configuration as published in Redis; the last known one while Redis is unavailable. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';

export interface LiveConfig {
  readonly current: GatewayConfig;
  /** Called after each change; returns the function that unsubscribes. */
  onChange(listener: (config: GatewayConfig) => void): () => void;
  /** Reads the configuration again; a call during a read triggers one more. Never throws. */
  refresh(): Promise<void>;
  close(): void;
}

export interface LiveConfigOptions {
  initial: GatewayConfig;
  /** null: none is published, so the last known one applies. */
  read: () => Promise<GatewayConfig | null>;
  /** A fallback for notifications, which a working connection delivers; 30,000. */
  pollMs?: number;
  /** What was read is invalid; the last known one applies. */
  onError: (error: unknown) => void;
}

const POLL_MS = 30_000;

export function watchConfig(options: LiveConfigOptions): LiveConfig {
  const { read, onError } = options;
  const listeners = new Set<(config: GatewayConfig) => void>();
  let current = options.initial;
  let text = JSON.stringify(current);
  let reading: Promise<void> | null = null;
  let isStale = false;

  const readOnce = async () => {
    const next = await read();
    if (next === null) return;
    const nextText = JSON.stringify(next);
    if (nextText === text) return;
    current = next;
    text = nextText;
    for (const listener of listeners) listener(next);
  };
  const readUntilFresh = async () => {
    do {
      isStale = false;
      await readOnce().catch(onError);
    } while (isStale);
    reading = null;
  };
  const refresh = () => {
    isStale = true;
    reading ??= readUntilFresh();
    return reading;
  };
  const intervalMs = options.pollMs ?? POLL_MS;
  const polls = new PeriodicTask({ run: refresh, intervalMs, onError });
  polls.start(intervalMs);
  return {
    get current() {
      return current;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh,
    close: () => void polls.stop(),
  };
}
