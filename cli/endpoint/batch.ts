/** `berth batch`: uploads the requests of a file, waits for their batch, and saves what it has written. */
import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BatchObject, batchObject, fileObject } from '../../api/api-objects.ts';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { callEndpoint, type Endpoint, openEndpoint } from './endpoint.ts';

const POLL_MS = 2_000;
const ENDED = new Set<BatchObject['status']>(['completed', 'failed', 'expired', 'cancelled']);
/** A gateway that is being replaced. */
const MAX_MISSES = 30;
const LINE_END = 0x0a;
const FIRST_BYTES = 1024 * 1024;

export async function runBatch(
  target: Target,
  { positionals: [name, path], values, flags }: Invocation,
  output: Output,
): Promise<void> {
  const route = await readRoute(path!);
  const endpoint = await openEndpoint(
    target,
    {
      name: name!,
      route: route.replace(/^\/v\d/, ''),
      keyName: values.key,
      url: values.url,
      isPlainAllowed: flags.has('plain-http'),
    },
    process.env,
  );
  const file = await upload(endpoint, path!);
  output.note(`${path} is the file ${file}`);
  const body = { input_file_id: file, endpoint: route, completion_window: values.window ?? '24h' };
  const made = readBatch(await (await callEndpoint(endpoint, 'batches', { body })).json());
  output.note(`the batch is ${made.id}`);
  if (flags.has('no-wait')) return output.show(made, () => made.id);
  const batch = await waitForEnd(endpoint, made, output);
  const out = values.out ?? `${path!.replace(/\.jsonl$/, '')}.out.jsonl`;
  const saved = [
    ...(await save(endpoint, batch.output_file_id, out)),
    ...(await save(endpoint, batch.error_file_id, out.replace(/(\.jsonl)?$/, '.errors.jsonl'))),
  ];
  output.show(batch, () => [describe(batch), ...saved.map((each) => `saved ${each}`)].join('\n'));
  if (batch.status !== 'completed') output.endWith('failed');
}

/** That the first line asks for. */
async function readRoute(path: string): Promise<string> {
  const file = await open(path).catch((error: Error) => {
    throw new Failure('usage', `${path} cannot be read: ${error.message}`);
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const end = buffer.indexOf(LINE_END);
    const { url } = JSON.parse(buffer.toString('utf8', 0, end < 0 ? bytesRead : Math.min(end, bytesRead)));
    if (typeof url === 'string' && url.startsWith('/')) return url;
  } catch {
    // Reported below.
  } finally {
    await file.close();
  }
  throw new Failure(
    'usage',
    `the first line of ${path} must be an object with custom_id, method, url and body, such as {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {…}}`,
  );
}

async function upload(endpoint: Endpoint, path: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', await openAsBlob(path), basename(path));
  const response = await callEndpoint(endpoint, 'files', { form });
  return fileObject.parse(await response.json()).id;
}

async function waitForEnd(endpoint: Endpoint, made: BatchObject, output: Output): Promise<BatchObject> {
  let batch = made;
  let shown = '';
  for (let misses = 0; !ENDED.has(batch.status); ) {
    await sleep(POLL_MS);
    try {
      batch = readBatch(await (await callEndpoint(endpoint, `batches/${made.id}`)).json());
      misses = 0;
    } catch (error) {
      if (++misses > MAX_MISSES) throw error;
    }
    if (describe(batch) !== shown) output.note(describe(batch));
    shown = describe(batch);
  }
  return batch;
}

const readBatch = (value: unknown): BatchObject => batchObject.parse(value);

function describe({ status, request_counts: { total, completed, failed }, errors }: BatchObject): string {
  const [first] = errors?.data ?? [];
  const why = first ? `: ${first.line === null ? '' : `line ${first.line}: `}${first.message}` : '';
  return `${status}, ${completed + failed} of ${total} lines${failed > 0 ? `, ${failed} failed` : ''}${why}`;
}

/** Where it is saved; nowhere without a file. */
async function save(endpoint: Endpoint, id: string | null, path: string): Promise<string[]> {
  if (id === null) return [];
  const response = await callEndpoint(endpoint, `files/${id}/content`);
  const file = await open(path, 'w');
  try {
    await file.writeFile(response.body!);
  } finally {
    await file.close();
  }
  return [path];
}
