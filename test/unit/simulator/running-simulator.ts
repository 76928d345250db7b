/** A simulator in this process, on free ports, with calls for tests. */
import type { Kind } from '../../../simulator/engine.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../../simulator/settings.ts';

export const MODEL = 'berth/test-model';

export interface ControlState {
  settings: Settings;
  inflight: number;
  requests: number;
  aborted: number;
  last: { method: string; path: string; headers: Record<string, string>; body: unknown } | null;
  recent: { at: number; method: string; path: string; prompt?: string }[];
}

export class RunningSimulator {
  readonly #simulator: Simulator;
  exits = 0;

  private constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  static async start(
    options: { kind?: Kind; startupSeconds?: number; sleepMode?: boolean; settings?: Partial<Settings> } = {},
  ): Promise<RunningSimulator> {
    const running: RunningSimulator = new RunningSimulator(
      await startSimulator({
        model: MODEL,
        kind: options.kind ?? 'LLM',
        startupSeconds: options.startupSeconds ?? 0,
        sleepMode: options.sleepMode ?? false,
        settings: { ...DEFAULT_SETTINGS, ...options.settings },
        listen: { host: '127.0.0.1', port: 0 },
        control: { host: '127.0.0.1', port: 0 },
        exit: () => running.exits++,
      }),
    );
    return running;
  }

  get url(): string {
    return this.#simulator.url;
  }

  get controlURL(): string {
    return `${this.#simulator.controlURL}/control`;
  }

  stop(graceMs = 0): Promise<void> {
    return this.#simulator.stop(graceMs);
  }

  post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  }

  /** Sends a multipart form; a Buffer becomes a file. */
  postForm(path: string, parts: [name: string, value: string | Buffer][], init: RequestInit = {}) {
    const body = new FormData();
    for (const [name, value] of parts)
      if (typeof value === 'string') body.append(name, value);
      else body.append(name, new Blob([new Uint8Array(value)]), 'upload.png');
    return fetch(`${this.url}${path}`, { method: 'POST', body, ...init });
  }

  async readControl(): Promise<ControlState> {
    return (await (await fetch(this.controlURL)).json()) as ControlState;
  }

  putControl(settings: unknown): Promise<Response> {
    return fetch(this.controlURL, { method: 'PUT', body: JSON.stringify(settings) });
  }

  async reset(): Promise<void> {
    await fetch(this.controlURL, { method: 'DELETE' });
  }
}

/** A chat of one user message, with more fields. */
export const chatOf = (text: string, more: object = {}): object => ({
  messages: [{ role: 'user', content: text }],
  ...more,
});

export interface StreamEnd {
  /** The data of each event, [DONE] left out. */
  events: Record<string, unknown>[];
  isDone: boolean;
  isBroken: boolean;
}

/** Reads a stream to its end, however it ends. */
export async function readStream(response: Response): Promise<StreamEnd> {
  let text = '';
  let isBroken = false;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body!) text += decoder.decode(chunk, { stream: true });
  } catch {
    isBroken = true;
  }
  const data = text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []));
  return {
    events: data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one)),
    isDone: data.at(-1) === '[DONE]',
    isBroken,
  };
}
