/** Latency of requests that are sent one after the other, from this process, in turns between several ports. */
import { Agent, request as sendRequest } from 'node:http';
import { median } from './statistics.ts';
import { API_KEY } from './systems.ts';

const agent = new Agent({ keepAlive: true });

export interface TimedRequest {
  port: number;
  path: string;
  /** Absent: GET. */
  body?: Buffer | string;
  type?: string;
}

/** Milliseconds to the response's last byte. Throws if the status is not 200. */
export async function timeRequest({
  port,
  path,
  body,
  type = 'application/json',
}: TimedRequest): Promise<number> {
  const start = performance.now();
  await new Promise<void>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${API_KEY}`,
      ...(body && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const sent = sendRequest({ agent, host: '127.0.0.1', port, path, method, headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => {
        if (res.statusCode !== 200) text += chunk.toString();
      });
      res.on('end', () =>
        res.statusCode === 200 ? resolve() : reject(new Error(`${res.statusCode}: ${text}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
  return performance.now() - start;
}

/** Medians of each of `requests`, which take turns, so that disturbances of the machine affect all. */
export async function timeInTurns(requests: readonly TimedRequest[], rounds: number): Promise<number[]> {
  const times: number[][] = requests.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, request] of requests.entries()) times[index]!.push(await timeRequest(request));
  return times.map(median);
}
