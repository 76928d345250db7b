/** Admissions of one turn of the event loop in one command: on a busy gateway that spares most of their cost. */
import { FUNCTIONS, workKeys } from '../../api/redis-keys.ts';
import { type RedisClient, sendNow } from '../client.ts';
import type { AdmissionRequest, Counted } from './admission-calls.ts';

interface Waiting {
  request: AdmissionRequest;
  resolve(answer: string): void;
  reject(error: unknown): void;
}

/** Bounds what one call keeps Redis from doing. */
const MAX_BATCH = 100;
const FAILED = 'failed ';
const MODES: Record<Counted, string> = { no: '0', all: '1', requests: '2' };

/** By connection, then by namespace. */
const open = new WeakMap<RedisClient, Map<string, Waiting[]>>();

/** Resolves with the function's answer to one request. */
export const admitTogether = (redis: RedisClient, request: AdmissionRequest): Promise<string> =>
  new Promise((resolve, reject) => {
    const waiting = { request, resolve, reject };
    const batches = findBatches(redis);
    const batch = batches.get(request.namespace);
    if (batch) batch.push(waiting);
    else batches.set(request.namespace, [waiting]);
  });

function findBatches(redis: RedisClient): Map<string, Waiting[]> {
  const found = open.get(redis);
  if (found) return found;
  const batches = new Map<string, Waiting[]>();
  open.set(redis, batches);
  setImmediate(() => {
    open.delete(redis);
    for (const [namespace, batch] of batches)
      for (let start = 0; start < batch.length; start += MAX_BATCH)
        send(redis, namespace, batch.slice(start, start + MAX_BATCH));
  });
  return batches;
}

function send(redis: RedisClient, namespace: string, batch: Waiting[]): void {
  const { rpm } = workKeys(namespace);
  const args: string[] = [FUNCTIONS.admit, String(batch.length)];
  for (const { request } of batch) args.push(rpm(request.sha256));
  args.push(namespace);
  for (const { request } of batch) args.push(request.sha256, MODES[request.counted]);
  for (const { request } of batch) request.onSend?.();
  sendNow(redis, 'fcall', args).then(
    (answers) => {
      for (const [index, waiting] of batch.entries()) settle(waiting, (answers as string[])[index]!);
    },
    (error) => {
      for (const { reject } of batch) reject(error);
    },
  );
}

function settle({ resolve, reject }: Waiting, answer: string): void {
  if (answer.startsWith(FAILED)) reject(new Error(answer.slice(FAILED.length)));
  else resolve(answer);
}
