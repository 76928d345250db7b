/**
 * Measures large bodies on their way to the bucket, from an engine and from a client: the sidecar's peak of memory, and its speed
 * beside curl, which holds them in a file, too. Part of `make bench` (ONLY=results).
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RedisClient } from '../../redis/client.ts';
import { makeFolder } from './folders.ts';
import { buildImage } from './large-image.ts';
import {
  GATEWAY_URL,
  IMAGE_BYTES,
  LARGE_BYTES,
  MEDIA_ENGINE_URL,
  type MediaPod,
  startMediaPod,
} from './media-pod.ts';
import { LOAD_CORE, readMemory, readPeakMemory, SYSTEM_CORE } from './pinned-process.ts';
import { atLeast, atMost, formatRows, type Goal } from './report.ts';
import { median } from './statistics.ts';
import { API_KEY } from './systems.ts';

export interface TransferFigures {
  name: string;
  idleMiB: number;
  peakMiB: number;
  /** Medians, from the request for the first byte to the last stored one. */
  megabytesPerSecond: number;
  curlMegabytesPerSecond: number;
}

interface Transfer {
  name: string;
  kind: 'image' | 'video';
  times: number;
  /** One of the same kind. */
  runSmall(pod: MediaPod): Promise<unknown>;
  /** These resolve with MB/s. */
  run(pod: MediaPod): Promise<number>;
  copyByCurl(): Promise<number>;
}

/** Until the heap contains what any request leaves there. */
const WARMINGS = 20;
const SMALL_BYTES = 1_000;
const folder = makeFolder();
const smallFile = join(folder, 'small.png');
const imageFile = join(folder, 'image.png');
const copyFile = join(folder, 'copy');

const TRANSFERS: Transfer[] = [
  {
    name: `videos of ${LARGE_BYTES / 1e6} MB, engine → bucket`,
    kind: 'video',
    times: 5,
    runSmall: (pod) => pod.run('small'),
    run: (pod) => runLarge(pod, LARGE_BYTES),
    copyByCurl: () => copy(LARGE_BYTES, `${MEDIA_ENGINE_URL}/v1/videos/large/content`),
  },
  {
    name: 'uploads of 32 MiB for edits that are queued, client → bucket',
    kind: 'image',
    times: 15,
    runSmall: (pod) => edit(pod, smallFile),
    run: async (pod) => IMAGE_BYTES / 1e6 / (await edit(pod, imageFile)),
    copyByCurl: () => copy(IMAGE_BYTES, `${MEDIA_ENGINE_URL}/image/content`),
  },
  {
    name: 'images of 32 MiB, engine → bucket',
    kind: 'image',
    times: 15,
    runSmall: (pod) => pod.run('small'),
    run: (pod) => runLarge(pod, IMAGE_BYTES),
    copyByCurl: copyImage,
  },
];

export async function measureLargeResults(redis: RedisClient): Promise<TransferFigures[]> {
  writeFileSync(smallFile, buildImage(SMALL_BYTES));
  writeFileSync(imageFile, buildImage(IMAGE_BYTES));
  const figures: TransferFigures[] = [];
  for (const transfer of TRANSFERS) figures.push(await measureTransfer(redis, transfer));
  return figures;
}

/** A new sidecar for each, since the heap that one leaves would count as the next one's idle memory. */
async function measureTransfer(
  redis: RedisClient,
  { name, kind, times, runSmall, run, copyByCurl }: Transfer,
): Promise<TransferFigures> {
  const pod = await startMediaPod(redis, kind);
  try {
    for (let i = 0; i < WARMINGS; i++) await runSmall(pod);
    const idleMiB = readMemory(pod.pid);
    // From here on the kernel's high-water mark is measured from zero.
    writeFileSync(`/proc/${pod.pid}/clear_refs`, '5');
    const speeds: number[] = [];
    const curlSpeeds: number[] = [];
    for (let i = 0; i < times; i++) {
      speeds.push(await run(pod));
      curlSpeeds.push(await copyByCurl());
    }
    return {
      name,
      idleMiB,
      peakMiB: readPeakMemory(pod.pid),
      megabytesPerSecond: median(speeds),
      curlMegabytesPerSecond: median(curlSpeeds),
    };
  } finally {
    await pod.stop();
  }
}

async function runLarge(pod: MediaPod, bytes: number): Promise<number> {
  await pod.run('large');
  return readSpeed(bytes);
}

/** Seconds until the client has its response, by which all is stored; then waits for the edit, with the image from the bucket. */
async function edit(pod: MediaPod, file: string): Promise<number> {
  const answer = await curl(
    LOAD_CORE,
    ...[
      '-H',
      `authorization: Bearer ${API_KEY}`,
      '-F',
      'model=image',
      '-F',
      'prompt=small',
      '-F',
      'async=true',
    ],
    ...['-F', `image=@${file};type=image/png`, '-w', '\n%{time_total}', `${GATEWAY_URL}/v1/images/edits`],
  );
  const [acknowledgement, seconds] = answer.split('\n');
  await pod.untilSucceeded((JSON.parse(acknowledgement!) as { id: string }).id);
  return Number(seconds);
}

async function copy(bytes: number, url: string): Promise<number> {
  await curl(SYSTEM_CORE, '-o', copyFile, url);
  await curl(SYSTEM_CORE, '-T', copyFile, `${MEDIA_ENGINE_URL}/bucket/curl`);
  return readSpeed(bytes);
}

/** Copies the image there, since curl decodes nothing. */
async function copyImage(): Promise<number> {
  await curl(
    SYSTEM_CORE,
    '-o',
    copyFile,
    '-d',
    '{"prompt":"large"}',
    `${MEDIA_ENGINE_URL}/v1/images/generations`,
  );
  await curl(SYSTEM_CORE, '-T', imageFile, `${MEDIA_ENGINE_URL}/bucket/curl`);
  return readSpeed(IMAGE_BYTES);
}

const execute = promisify(execFile);

async function curl(core: number, ...args: string[]): Promise<string> {
  const { stdout } = await execute('taskset', [
    '-c',
    String(core),
    'curl',
    '-sS',
    '--fail-with-body',
    ...args,
  ]);
  return stdout;
}

async function readSpeed(bytes: number): Promise<number> {
  const response = await fetch(`${MEDIA_ENGINE_URL}/times`);
  const times = (await response.json()) as { askedMs: number; storedMs: number; storedBytes: number };
  if (times.storedBytes !== bytes) throw new Error(`${times.storedBytes} bytes were stored`);
  return times.storedBytes / 1e3 / (times.storedMs - times.askedMs);
}

export const formatLargeResults = (figures: TransferFigures[]): string =>
  figures
    .map(({ name, megabytesPerSecond, curlMegabytesPerSecond, idleMiB, peakMiB }) =>
      formatRows([
        [name, 'berth', 'curl'],
        ['MB/s', megabytesPerSecond.toFixed(0), curlMegabytesPerSecond.toFixed(0)],
        ['memory idle, MiB', idleMiB.toFixed(0), ''],
        ['memory at its peak, MiB', peakMiB.toFixed(0), ''],
      ]),
    )
    .join('\n\n');

export const listLargeResultGoals = (figures: TransferFigures[]): Goal[] =>
  figures.flatMap(({ name, megabytesPerSecond, curlMegabytesPerSecond, idleMiB, peakMiB }) => [
    atMost(`memory over idle, MiB: ${name}`, peakMiB - idleMiB, 32),
    atLeast(`MB/s ÷ curl: ${name}`, megabytesPerSecond / curlMegabytesPerSecond, 0.8),
  ]);
