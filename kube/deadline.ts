/** The time that a call may take, together with its caller's own signal. */
import { ApiError } from './api-error.ts';

export interface Deadline {
  signal: AbortSignal;
  /** Lets the rest take as long as it takes; the caller's own signal still counts. */
  stopClock(): void;
  end(): void;
  /** What to throw for an error of the transport. */
  explain(error: unknown, call: string): Error;
}

/** A plain `AbortSignal.any` would stay with a caller's long-lived signal until that one ends. */
export function startDeadline(timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let late = false;
  const abort = () => controller.abort(parent?.reason);
  const timer = setTimeout(() => {
    late = true;
    controller.abort();
  }, timeoutMs);
  if (parent?.aborted) abort();
  parent?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', abort);
    },
    explain(cause, call) {
      const reason = late ? 'Timeout' : parent?.aborted ? 'Aborted' : 'Unreachable';
      const message = late ? `no answer within ${timeoutMs} ms` : describeCause(cause);
      return new ApiError({ code: 0, reason, call }, message, { cause });
    },
  };
}

function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A failed connection to several addresses has an empty message and the code only.
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
