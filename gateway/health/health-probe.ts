/** One call of an engine's health check, and its result. */
import { request } from 'node:http';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import type { Observation } from './engine-verdict.ts';
import type { RunClock } from './run-clock.ts';

export interface HealthProbe {
  seen: Promise<Observation>;
  /** Then `seen` never resolves. */
  cancel: () => void;
}

/** Calls the health check of an engine once, on a connection of its own: requests being judged share nothing with it (decision 0350). */
export function probeHealth(
  url: string,
  { timeoutMs, clock }: { timeoutMs: number; clock: RunClock },
): HealthProbe {
  const startedAt = clock.now();
  let timer: NodeJS.Timeout;
  const call = request(url, { agent: false });
  const seen = new Promise<Observation>((resolve) => {
    const end = (observation: Observation) => {
      clearTimeout(timer);
      resolve(observation);
    };
    call.on('response', (response) => {
      const status = response.statusCode ?? 0;
      response.resume();
      response.on('error', () => {});
      if (status >= 200 && status < 300) end({ kind: 'probe', result: 'good' });
      else end({ kind: 'probe', result: 'bad', reason: `health check returned ${status}` });
    });
    call.on('error', (error: NodeJS.ErrnoException) => {
      if (readConnectionFailure(error) === 'refused') end({ kind: 'refused' });
      else
        end({ kind: 'probe', result: 'bad', reason: `health check failed: ${error.code ?? error.message}` });
    });
    // A response that has arrived meanwhile is read before a late timer expires.
    const expire = () => setImmediate(() => setImmediate(conclude));
    const conclude = () => {
      const left = timeoutMs - (clock.now() - startedAt);
      if (left > 0) {
        timer = setTimeout(expire, left);
        return;
      }
      end({ kind: 'probe', result: 'slow' });
      call.destroy();
    };
    timer = setTimeout(expire, timeoutMs);
    call.end();
  });
  const cancel = () => {
    clearTimeout(timer);
    call.removeAllListeners('response').removeAllListeners('error');
    call.on('error', () => {});
    call.destroy();
  };
  return { seen, cancel };
}
