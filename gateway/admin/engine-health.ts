/** Whether the engine beside this gateway answers. */
import { request } from 'node:http';

export interface EngineHealthOptions {
  engineURL: string;
  path: string;
  /** Told on every change. */
  onChange?: (isHealthy: boolean, reason: string) => void;
  timing?: Partial<EngineHealthTiming>;
}

export interface EngineHealthTiming {
  /** Between checks while the engine starts or fails. */
  failingMs: number;
  healthyMs: number;
  timeoutMs: number;
  /** So long without a good answer, the engine counts as dead; its probe's own threshold adds the 5 minutes of patience. */
  deadMs: number;
}

const TIMING: EngineHealthTiming = { failingMs: 1_000, healthyMs: 5_000, timeoutMs: 2_000, deadMs: 20_000 };
/** A busy engine may miss one check. */
const FAILURES_TO_UNHEALTHY = 2;

type Check = { isGood: true } | { isGood: false; isRefused: boolean; reason: string };

export class EngineHealth {
  readonly #options: EngineHealthOptions;
  readonly #timing: EngineHealthTiming;
  #isHealthy = false;
  #failures = 0;
  #goodAt = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #isChecking = false;
  #isStopped = false;

  constructor(options: EngineHealthOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    void this.#check();
  }

  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** False after `deadMs` without a good answer. */
  get isAlive(): boolean {
    return performance.now() - this.#goodAt < this.#timing.deadMs;
  }

  /** Checks now: someone saw the engine fail. */
  suspect(): void {
    if (this.#isHealthy && !this.#isChecking) void this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#isChecking = true;
    const check = await checkOnce(`${this.#options.engineURL}${this.#options.path}`, this.#timing.timeoutMs);
    this.#isChecking = false;
    if (this.#isStopped) return;
    this.#judge(check);
    const isQuiet = this.#isHealthy && this.#failures === 0;
    this.#timer = setTimeout(
      () => void this.#check(),
      isQuiet ? this.#timing.healthyMs : this.#timing.failingMs,
    );
    this.#timer.unref();
  }

  #judge(check: Check): void {
    if (check.isGood) {
      this.#failures = 0;
      this.#goodAt = performance.now();
      this.#change(true, '');
      return;
    }
    this.#failures++;
    if (check.isRefused || this.#failures >= FAILURES_TO_UNHEALTHY) this.#change(false, check.reason);
  }

  #change(isHealthy: boolean, reason: string): void {
    if (this.#isHealthy === isHealthy) return;
    this.#isHealthy = isHealthy;
    this.#options.onChange?.(isHealthy, reason);
  }
}

function checkOnce(url: string, timeoutMs: number): Promise<Check> {
  return new Promise((resolve) => {
    const call = request(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const status = response.statusCode ?? 0;
      response.resume();
      response.on('error', () => {});
      if (status >= 200 && status < 300) resolve({ isGood: true });
      else resolve({ isGood: false, isRefused: false, reason: `its health check answers ${status}` });
    });
    call.on('error', (error: NodeJS.ErrnoException) => {
      const isTimeout = error.name === 'TimeoutError' || error.name === 'AbortError';
      const reason = isTimeout
        ? `its health check takes over ${timeoutMs} ms`
        : (error.code ?? error.message);
      resolve({ isGood: false, isRefused: error.code === 'ECONNREFUSED', reason });
    });
    call.end();
  });
}
