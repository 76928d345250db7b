/** Calls of V8's inspector in a program that was started with `--inspect`. */

export class Inspector {
  readonly #socket: WebSocket;
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      const refuse = () => reject(new Error('the inspector refuses connections'));
      socket.addEventListener('error', refuse, { once: true });
    });
    return new Inspector(socket);
  }

  call<T = unknown>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      const read = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as { id?: number; result: T; error?: { message: string } };
        if (message.id !== id) return;
        this.#socket.removeEventListener('message', read);
        if (message.error) reject(new Error(`${method}: ${message.error.message}`));
        else resolve(message.result);
      };
      this.#socket.addEventListener('message', read);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.close();
  }
}
