/**
 * Measures large videos from the engine to the bucket: the sidecar's peak of memory, and its speed beside curl, which
 * holds the video in a file, too. Part of `make bench` (ONLY=results).
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisClient } from '../../redis/client.ts';
import { makeFolder } from './folders.ts';
import { LARGE_BYTES, MEDIA_ENGINE_URL, startMediaPod } from './media-pod.ts';
import { readMemory, readPeakMemory, SYSTEM_CORE } from './pinned-process.ts';
import { atLeast, atMost, formatRows, type Goal } from './report.ts';
import { median } from './statistics.ts';

export interface LargeResults {
  idleMiB: number;
  peakMiB: number;
  /** Medians, from the first byte asked for to the last one stored. */
  megabytesPerSecond: number;
  curlMegabytesPerSecond: number;
}

const VIDEOS = 5;

export async function measureLargeResults(redis: RedisClient): Promise<LargeResults> {
  const pod = await startMediaPod(redis);
  try {
    await pod.run('small');
    const idleMiB = readMemory(pod.pid);
    // From here on the kernel's high-water mark is measured from zero.
    writeFileSync(`/proc/${pod.pid}/clear_refs`, '5');
    const speeds: number[] = [];
    const curlSpeeds: number[] = [];
    for (let i = 0; i < VIDEOS; i++) {
      await pod.run('large');
      speeds.push(await readSpeed());
      copyByCurl();
      curlSpeeds.push(await readSpeed());
    }
    return {
      idleMiB,
      peakMiB: readPeakMemory(pod.pid),
      megabytesPerSecond: median(speeds),
      curlMegabytesPerSecond: median(curlSpeeds),
    };
  } finally {
    await pod.stop();
  }
}

function copyByCurl(): void {
  const folder = makeFolder();
  const file = join(folder, 'video.mp4');
  const curl = (...args: string[]) =>
    execFileSync('taskset', ['-c', String(SYSTEM_CORE), 'curl', '-sSf', ...args], { stdio: 'inherit' });
  curl('-o', file, `${MEDIA_ENGINE_URL}/v1/videos/large/content`);
  curl('-T', file, `${MEDIA_ENGINE_URL}/bucket/curl.mp4`);
  rmSync(folder, { recursive: true });
}

async function readSpeed(): Promise<number> {
  const response = await fetch(`${MEDIA_ENGINE_URL}/times`);
  const times = (await response.json()) as { askedMs: number; storedMs: number; storedBytes: number };
  if (times.storedBytes !== LARGE_BYTES) throw new Error(`${times.storedBytes} bytes were stored`);
  return times.storedBytes / 1e3 / (times.storedMs - times.askedMs);
}

export const formatLargeResults = (figures: LargeResults): string =>
  formatRows([
    [`videos of ${LARGE_BYTES / 1e6} MB, engine → bucket`, 'berth', 'curl'],
    ['MB/s', figures.megabytesPerSecond.toFixed(0), figures.curlMegabytesPerSecond.toFixed(0)],
    ['memory idle, MiB', figures.idleMiB.toFixed(0), ''],
    ['memory at its peak, MiB', figures.peakMiB.toFixed(0), ''],
  ]);

export const listLargeResultGoals = (figures: LargeResults): Goal[] => [
  atMost('memory over idle with large videos, MiB', figures.peakMiB - figures.idleMiB, 32),
  atLeast('MB/s of large videos ÷ curl', figures.megabytesPerSecond / figures.curlMegabytesPerSecond, 0.8),
];
