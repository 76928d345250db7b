import type { LocalEngine } from '../../gateway/health/local-engine.ts';
import { Pools } from '../../gateway/upstream/pools.ts';

/** An engine that is taken for healthy; `close` ends its connections. */
export function describeEngine(
  url: string,
  { onResend, ...changes }: Partial<LocalEngine> & { onResend?: () => void } = {},
): LocalEngine & { close(): Promise<void> } {
  const pools = new Pools({ onResend });
  const pool = () => pools.get(url);
  return {
    url,
    pool: pool(),
    unwatchedPool: pool,
    beginWork: () => ({ progress: () => {}, break: () => {}, end: () => {} }),
    isReady: () => true,
    isLost: () => false,
    suspect: () => {},
    contextLength: () => null,
    ranOutOfMemory: null,
    ...changes,
    close: () => pools.destroy(),
  };
}
