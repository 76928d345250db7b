/** The part of the front's internal service by which the operator looks up models. */
import { createServer } from 'node:http';
import { INTERNAL_PATHS, type LookUpModelAnswer } from '../../api/internal-api.ts';
import { closeServer, listen, readServerPort } from '../../kit/http-server.ts';

export interface ModelFront {
  url: string;
  /** Number of lookups. */
  readonly lookups: number;
  close(): Promise<void>;
}

/** Answer for Llama 3.1 8B. */
const ANSWER: LookUpModelAnswer = {
  found: true,
  weightBytes: 16_060_522_496,
  shape: {
    fullLayers: 32,
    windowLayers: 0,
    window: 0,
    attentionHeads: 32,
    keyValueHeads: 8,
    latentElements: null,
    headElements: 256,
    cacheBytes: 2,
    weightElementBytes: 2,
    maxContext: 131_072,
  },
};

export async function startModelFront(): Promise<ModelFront> {
  let lookups = 0;
  const server = createServer((request, answer) => {
    request.resume();
    const isLookup = request.url === INTERNAL_PATHS.lookUpModel;
    if (isLookup) lookups++;
    answer.writeHead(isLookup ? 200 : 404, { 'content-type': 'application/json' });
    answer.end(JSON.stringify(isLookup ? ANSWER : {}));
  });
  await listen(server, 0, '127.0.0.1');
  return {
    url: `http://127.0.0.1:${readServerPort(server)}`,
    get lookups() {
      return lookups;
    },
    close: () => closeServer(server, 0),
  };
}
