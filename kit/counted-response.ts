/** A response that counts what its client has not read yet by writes as well as by bytes: a write of one byte takes hundreds of bytes of memory. */
import { type IncomingMessage, ServerResponse } from 'node:http';

/** Queued for a slow client; `drain` follows once they are sent. */
const MAX_QUEUED_WRITES = 64;

type WriteCallback = (error: Error | null | undefined) => void;

export class CountedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /** Since the client had read everything. */
  #writes = 0;
  #isDraining = false;

  // biome-ignore lint/suspicious/noExplicitAny: as in the types of Node
  override write(chunk: any, ...rest: [(BufferEncoding | WriteCallback)?, WriteCallback?]): boolean {
    const [encoding, callback] =
      typeof rest[0] === 'function' ? ['utf8' as const, rest[0]] : [rest[0] ?? 'utf8', rest[1]];
    this.#writes = this.writableLength === 0 ? 1 : this.#writes + 1;
    if (this.#writes < MAX_QUEUED_WRITES) return super.write(chunk, encoding, callback);
    if (this.#isDraining) {
      super.write(chunk, encoding, callback);
      return false;
    }
    this.#isDraining = true;
    super.write(chunk, encoding, (error) => {
      this.#isDraining = false;
      callback?.(error);
      if (!error && !this.destroyed) this.emit('drain');
    });
    return false;
  }
}
