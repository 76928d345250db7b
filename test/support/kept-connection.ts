/** One connection on which a test writes bytes and reads responses in order. */
import type { Socket } from 'node:net';
import { openSocket } from './raw-client.ts';

export interface ReadResponse {
  status: number;
  /** Names in lowercase; the last of several. */
  headers: Record<string, string>;
  body: string;
  /** Interim responses before it, such as 100. */
  interim: number[];
}

export class KeptConnection {
  readonly #socket: Socket;
  #text = '';
  #isClosed = false;
  #onChange = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('latin1');
      this.#onChange();
    });
    for (const event of ['end', 'close'])
      socket.on(event, () => {
        this.#isClosed = true;
        this.#onChange();
      });
  }

  static async open(port: number): Promise<KeptConnection> {
    return new KeptConnection(await openSocket(port));
  }

  /** The server has closed its side. */
  get isClosed(): boolean {
    return this.#isClosed || this.#socket.destroyed;
  }

  /** What has arrived and was not read. */
  get received(): string {
    return this.#text;
  }

  /** Resolves when all of it is written; never rejects. */
  write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('close', resolve);
      this.#socket.write(bytes, () => {
        this.#socket.off('close', resolve);
        resolve();
      });
    });
  }

  /** Sends nothing more; still reads. */
  endWriting(): void {
    this.#socket.end();
  }

  /** Leaves what arrives in the kernel's buffers. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** The next response; null if the connection closes before one is complete. Throws if none comes in time. */
  async read({ method = 'GET', withinMs = 10_000 } = {}): Promise<ReadResponse | null> {
    const interim: number[] = [];
    for (;;) {
      const response = await this.#until(() => this.#take(method), withinMs);
      if (!response || response.status >= 200) return response && { ...response, interim };
      interim.push(response.status);
    }
  }

  /** Whether the server closes within that time. */
  async closes(withinMs: number): Promise<boolean> {
    await this.#until(() => null, withinMs).catch(() => {});
    return this.#isClosed;
  }

  end(): void {
    this.#socket.destroy();
  }

  #until<T>(find: () => T | null, withinMs: number): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#onChange = () => {};
        reject(new Error(`no response within ${withinMs} ms; received so far: ${this.#text.slice(0, 500)}`));
      }, withinMs);
      this.#onChange = () => {
        const found = find();
        if (found === null && !this.#isClosed) return;
        clearTimeout(timer);
        this.#onChange = () => {};
        resolve(found);
      };
      this.#onChange();
    });
  }

  #take(method: string): Omit<ReadResponse, 'interim'> | null {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [line = '', ...fields] = this.#text.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? Number.NaN);
    const headers = Object.fromEntries(
      fields.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
      }),
    );
    const rest = this.#text.slice(end + 4);
    const hasNoBody = status < 200 || status === 204 || status === 304 || method === 'HEAD';
    const body = hasNoBody ? { text: '', length: 0 } : this.#takeBody(headers, rest);
    if (!body) return null;
    this.#text = rest.slice(body.length);
    return { status, headers, body: body.text };
  }

  #takeBody(headers: Record<string, string>, rest: string): { text: string; length: number } | null {
    if (headers['transfer-encoding'] === 'chunked') return takeChunks(rest);
    const length = headers['content-length'];
    if (length === undefined) return this.#isClosed ? { text: rest, length: rest.length } : null;
    return rest.length < Number(length)
      ? null
      : { text: rest.slice(0, Number(length)), length: Number(length) };
  }
}

function takeChunks(rest: string): { text: string; length: number } | null {
  let text = '';
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(rest.slice(at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (rest.length < next) return null;
    text += rest.slice(lineEnd + 2, lineEnd + 2 + size);
    at = next;
    if (size === 0) return { text, length: at };
  }
}
