/**
 * `node test/bench/batches.ts`: what a batch takes from requests, and what it makes of idle slots. Prints the figures: p95 of requests with
 * and without a batch, busy slots while lines are left, throughput of a batch and of 64 clients, and the memory of an upload.
 * LINES, FILE_MB and SLOTS change its size.
 */
import { readFileSync } from 'node:fs';
import { startBatchStack } from '../integration/batches/batch-stack.ts';
import { callChat } from '../support/chat.ts';

const LINES = Number(process.env.LINES ?? 4_000);
const FILE_MB = Number(process.env.FILE_MB ?? 200);
const SLOTS = Number(process.env.SLOTS ?? 64);
const TTFT_MS = Number(process.env.TTFT_MS ?? 400);
const CLIENTS = SLOTS;
const REQUESTS = Number(process.env.REQUESTS ?? 150);
const MIB = 1024 ** 2;

const stack = await startBatchStack({
  spec: { concurrency: SLOTS, limits: { waitForSlot: '5s' } },
  env: { SIMULATOR_TTFT_MS: String(TTFT_MS) },
});
// A machine that is busy with this.
stack.client.maxRetries = 5;
const [replica] = stack.replicas;
const [engine] = stack.engines;
const body = { messages: [{ role: 'user', content: 'one two three' }], max_tokens: 4 };
const ask = async () => (await callChat(replica!.url, { body })).text();

/** Milliseconds, one after the other. */
async function measure(count: number): Promise<number> {
  const took: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const startedAt = performance.now();
    await ask();
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b)[Math.floor(count * 0.95)]!;
}

const readMemory = (): number => {
  const status = readFileSync(`/proc/${replica!.program.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
};
const print = (name: string, value: number, unit: string) =>
  console.log(`${name.padEnd(44)} ${value.toFixed(2)} ${unit}`);

try {
  await measure(10);
  const alone = await measure(REQUESTS);
  print('p95 of requests alone', alone, 'ms');

  const clientsStart = performance.now();
  let left = LINES;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (left-- > 0) await ask();
    }),
  );
  const clients = (1_000 * LINES) / (performance.now() - clientsStart);
  print(`throughput of ${CLIENTS} clients`, clients, 'per second');

  const run = async (lines: number) => stack.create((await stack.upload(lines)).id);
  const quiet = await run(LINES);
  const levels: number[] = [];
  const startedAt = performance.now();
  for (;;) {
    const { status, request_counts: counts } = await stack.client.batches.retrieve(quiet.id);
    const { inflight } = await engine!.read();
    if (status !== 'in_progress') break;
    if (counts!.completed < LINES - 3 * CLIENTS && counts!.completed > 0) levels.push(inflight);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const batch = (1_000 * LINES) / (performance.now() - startedAt);
  print('throughput of a batch', batch, 'per second');
  print('ratio', batch / clients, '(at least 0.95)');
  const busy = levels.reduce((sum, level) => sum + level, 0) / Math.max(1, levels.length) / SLOTS;
  print('busy slots while lines were left', 100 * busy, '% (at least 95)');

  const loud = await run(LINES * 4);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const shared = await measure(REQUESTS);
  print('p95 of requests with a batch', shared, 'ms');
  print('ratio', shared / alone, '(at most 1.1)');
  await stack.client.batches.cancel(loud.id);
  await stack.untilEnded(loud.id);

  const idle = readMemory();
  const line = (index: number) =>
    `${JSON.stringify({ custom_id: `line-${index}`, method: 'POST', url: '/v1/chat/completions', body: { ...body, user: 'x'.repeat(4_000) } })}\n`;
  const parts: string[] = [];
  for (let bytes = 0; bytes < FILE_MB * 1e6 - 10_000; bytes += parts.at(-1)!.length)
    parts.push(line(parts.length));
  let most = idle;
  const timer = setInterval(() => {
    most = Math.max(most, readMemory());
  }, 20);
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob(parts), 'large.jsonl');
  const answer = await fetch(`${replica!.url}/files`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${stack.client.apiKey}` },
  });
  clearInterval(timer);
  console.log(`upload of ${FILE_MB} MB: ${answer.status} ${(await answer.text()).slice(0, 120)}`);
  print('memory over idle', ((most - idle) * 1024 * 1024) / MIB, 'MiB (at most 32)');
} finally {
  await stack.stop();
}
