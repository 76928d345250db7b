/** The latest requests of a deployment that have ended, of every kind: what happened, and nothing of their content. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS } from '../function-table.ts';
import { isCount, isShortText } from '../untrusted-values.ts';

export interface RecentRequest {
  /** When it ended, Unix milliseconds. */
  endedAt: number;
  id: string;
  /** Name of the route. */
  route: string;
  /** HTTP's; 499 if the client disconnected. */
  status: number;
  errorCode: string | null;
  durationMs: number;
  /** In line for a slot of an engine. */
  waitMs: number;
  /** For a stream. */
  firstTokenMs: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Name of the APIKey; null if unknown. */
  keyName: string | null;
}

type Line = [
  id: string,
  route: string,
  status: number,
  errorCode: string | null,
  durationMs: number,
  waitMs: number,
  firstTokenMs: number | null,
  inputTokens: number | null,
  outputTokens: number | null,
  keyName: string | null,
  endedAt: number,
];

/** Adds to those of a deployment, of which Redis keeps the latest; MAX_NOTED_AT_ONCE at most. */
export async function noteRequests(
  redis: RedisClient,
  { namespace, deployment }: { namespace: string; deployment: string },
  requests: readonly RecentRequest[],
): Promise<void> {
  const rest = requests.flatMap((request) => [request.endedAt, JSON.stringify(encode(request))]);
  await callFunction(redis, 'noteRequests', [workKeys(namespace).recent(deployment)], {}, rest);
}

/** Those of the last day, newest first. */
export async function readRecentRequests(
  redis: RedisClient,
  { namespace, deployment, now = Date.now() }: { namespace: string; deployment: string; now?: number },
): Promise<RecentRequest[]> {
  const lines = await callFunction(redis, 'recent', [workKeys(namespace).recent(deployment)], {});
  const oldest = now - LIMITS.NOTED_SECONDS * 1_000;
  return lines
    .flatMap((line) => decode(line) ?? [])
    .filter(({ endedAt }) => endedAt >= oldest)
    .reverse();
}

const encode = (request: RecentRequest): Line => [
  request.id,
  request.route,
  request.status,
  request.errorCode,
  request.durationMs,
  request.waitMs,
  request.firstTokenMs,
  request.inputTokens,
  request.outputTokens,
  request.keyName,
  request.endedAt,
];

/** null: the workspace's own Redis user may write there. */
function decode(text: string): RecentRequest | null {
  const line = parseLine(text);
  if (!line) return null;
  const [id, route, status, errorCode, durationMs, waitMs, firstTokenMs, ...more] = line;
  const [inputTokens, outputTokens, keyName, endedAt] = more;
  const texts = [id, route, errorCode ?? '', keyName ?? ''];
  const counts = [status, durationMs, waitMs, firstTokenMs ?? 0, inputTokens ?? 0, outputTokens ?? 0];
  if (!texts.every(isShortText) || !counts.every(isCount) || !isTime(endedAt)) return null;
  return {
    ...{ id, route, status, errorCode, durationMs, waitMs },
    ...{ firstTokenMs, inputTokens, outputTokens, keyName, endedAt },
  };
}

function parseLine(text: string): Line | null {
  try {
    const value = text.length <= LIMITS.MAX_LINE_BYTES ? (JSON.parse(text) as Line) : null;
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The range of Date. */
const isTime = (at: unknown): boolean => isCount(at) && (at as number) <= 8_640_000_000_000_000;
