/** The latest requests of one deployment that have ended and are not written yet: their lines of the log, for the console. */
import { LIMITS } from '../../redis/function-table.ts';
import type { RecentRequest } from '../../redis/requests/recent-requests.ts';

const CLIENT_LEFT = 499;

/** The part of a line of the log that is kept. */
export interface EndedLine {
  request_id: string;
  route: string;
  status: number;
  error: string | undefined;
  client_disconnected: true | undefined;
  duration_ms: number;
  wait_ms: number | undefined;
  time_to_first_token_ms: number | undefined;
  api_key: string | undefined;
  input_tokens: number | undefined;
  output_tokens: number | undefined;
}

export class RecentRequests {
  /** The next one takes the place of the oldest: when many end between two writes, the latest are kept. */
  readonly #lines: EndedLine[] = [];
  readonly #outcomes: number[] = [];
  readonly #times: number[] = [];
  #next = 0;

  /** `outcome`: the status, also of a stream that failed later; `now`: Unix milliseconds. */
  note(line: EndedLine, outcome = line.status, now = Date.now()): void {
    this.#lines[this.#next] = line;
    this.#outcomes[this.#next] = outcome;
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % LIMITS.MAX_NOTED_AT_ONCE;
  }

  /** In any order. Those that cannot be written are lost. */
  take(): RecentRequest[] {
    const taken = this.#lines.map((line, index) =>
      describe(line, { status: this.#outcomes[index]!, endedAt: this.#times[index]! }),
    );
    this.#lines.length = 0;
    this.#outcomes.length = 0;
    this.#times.length = 0;
    this.#next = 0;
    return taken;
  }
}

const describe = (
  line: EndedLine,
  { status, endedAt }: Pick<RecentRequest, 'status' | 'endedAt'>,
): RecentRequest => ({
  endedAt,
  id: line.request_id,
  route: line.route,
  status: line.client_disconnected ? CLIENT_LEFT : status,
  errorCode: line.error ?? null,
  durationMs: line.duration_ms,
  waitMs: line.wait_ms ?? 0,
  firstTokenMs: line.time_to_first_token_ms ?? null,
  inputTokens: line.input_tokens ?? null,
  outputTokens: line.output_tokens ?? null,
  keyName: line.api_key ?? null,
});
