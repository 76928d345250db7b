/** Parses the locations of a request's files, from a text that a workspace's Redis user may have written. Pure. */
import type { RequestOutput } from '../../api/request.ts';
import { findJsonFault } from '../../kit/json-cost.ts';

/** For a request's maximum of a hundred keys, with a margin; in `findJsonFault`'s bytes. */
const MAX_VALUES_COST = 16 * 1024;

/** null if invalid. */
export function readOutput(text: string): RequestOutput | null {
  if (findJsonFault(Buffer.from(text), MAX_VALUES_COST) !== null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isOutput(value) ? value : null;
  } catch {
    return null;
  }
}

function isOutput(value: unknown): value is RequestOutput {
  if (typeof value !== 'object' || value === null) return false;
  const { bucket, keys, credential, provider, retentionMs } = value as Partial<RequestOutput>;
  return (
    typeof bucket === 'string' &&
    Array.isArray(keys) &&
    keys.every((key) => typeof key === 'string') &&
    (credential === null || typeof credential === 'string') &&
    (provider === null || typeof provider === 'string') &&
    (retentionMs === null || Number.isFinite(retentionMs))
  );
}
