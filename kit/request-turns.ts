/**
 * The requests of one connection are served one after the other: a client that sends many at once has no more in progress than
 * others, none is begun that cannot be answered, and a refusal follows the answers before it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeAfterRest, drop } from './early-answer.ts';

type Response = ServerResponse<IncomingMessage>;

/** Requests that have arrived before an answer; clients that do so send a few. */
const MAX_WAITING = 64;

export class RequestTurns {
  readonly #socket: Socket;
  readonly #serve: (response: Response) => void;
  /** In progress. */
  #current: Response | null = null;
  /** To the latest request, until that has arrived whole and is answered. */
  #latest: Response | null = null;
  readonly #waiting: (() => void)[] = [];
  #isOver = false;

  constructor(socket: Socket, serve: (response: Response) => void) {
    this.#socket = socket;
    this.#serve = serve;
  }

  /** Serves the request in its turn; never if the connection ends before. */
  enter(response: Response): void {
    if (this.#isOver) return;
    this.#latest = response;
    if (!this.#current) this.#begin(response);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(() => this.#begin(response));
    else {
      this.#isOver = true;
      this.#socket.destroy();
    }
  }

  /** Calls `end`, which answers what cannot be served and ends the connection, in its turn. Nothing that follows is served. */
  refuse(end: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const latest = this.#latest;
    if (latest && !latest.req.complete) {
      if (this.#waiting.length === 0) {
        this.#interrupt(latest, end);
        return;
      }
      this.#waiting.pop();
    }
    if (!this.#current) {
      end();
      return;
    }
    this.#socket.removeAllListeners('data');
    drop(this.#socket, this.#socket);
    this.#waiting.push(end);
  }

  /** Another answer would corrupt one that has started, and none follows one that is complete. */
  #interrupt(response: Response, end: () => void): void {
    if (!response.headersSent) end();
    else if (response.writableEnded) closeAfterRest(this.#socket);
    else this.#socket.destroy();
  }

  #begin(response: Response): void {
    this.#current = response;
    response.on('close', this.#leave);
    this.#serve(response);
  }

  /** One function for all requests of a connection: one for each would outlive its request. */
  readonly #leave = (): void => {
    if (this.#latest?.req.complete) this.#latest = null;
    if (this.#waiting.length > 0) setImmediate(() => this.#proceed());
    else this.#current = null;
  };

  #proceed(): void {
    const next = this.#waiting.shift();
    if (this.#socket.writable) next?.();
    else this.#waiting.length = 0;
  }
}
