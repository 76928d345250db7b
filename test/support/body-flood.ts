/** Posts bodies over kept connections, and as an attack from a program of its own, so that the test can watch others meanwhile. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type ChildProgram, startProgram } from './child-program.ts';

export interface Target {
  url: string;
  key: string;
  host?: string;
}

export class BodyClient {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Resolves with the status, at the end of the answer. */
  send(body: Buffer): Promise<number> {
    const { url, key, host } = this.#target;
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': body.length,
        ...(host && { host }),
      };
      const call = request(url, { method: 'POST', headers, agent: this.#agent }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode!));
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

interface Flood {
  target: Target;
  /** File with the body. */
  body: string;
  connections: number;
}

/** Sends the body on all connections until it is stopped; writes a line for each answer. */
export const startFlood = (flood: Flood): ChildProgram =>
  startProgram('test/support/body-flood.ts', { BODY_FLOOD: JSON.stringify(flood) });

const { BODY_FLOOD } = process.env;
if (BODY_FLOOD) {
  const { target, body, connections } = JSON.parse(BODY_FLOOD) as Flood;
  const bytes = readFileSync(body);
  const client = new BodyClient(target);
  for (let index = 0; index < connections; index++) void sendAgain();
  async function sendAgain(): Promise<never> {
    for (;;) {
      // A connection that is closed early is part of an attack.
      const status = await client.send(bytes).catch(() => 0);
      console.log(`answered ${status}`);
    }
  }
}
