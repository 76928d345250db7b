import type { LocalEngine } from '../../gateway/health/local-engine.ts';
import { Http1Client } from '../../kit/http1-client.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';

/** An engine that is taken for healthy; `close` ends its connections. */
export function describeEngine(
  url: string,
  { onResend, ...changes }: Partial<LocalEngine> & { onResend?: () => void } = {},
): LocalEngine & { close(): Promise<void> } {
  const client = new Http1Client(url, { onResend });
  const joined = client.compose(joinAnswers);
  const pool = () => joined;
  return {
    url,
    pool: pool(),
    unwatchedPool: pool,
    beginWork: () => ({ progress: () => {}, break: () => {}, end: () => {} }),
    isReady: () => true,
    isLost: () => false,
    suspect: () => {},
    contextLength: () => null,
    takesTools: () => null,
    ranOutOfMemory: null,
    ...changes,
    close: () => client.destroy(),
  };
}
