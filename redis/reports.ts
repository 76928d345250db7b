/** What replicas and fronts say of themselves in Redis: a workspace's own user may write anything in its place. */

const MAX_TEXT_LENGTH = 253;

/** null for what no program of ours wrote; each field must still be checked. */
export function decodeReport<T extends { v: 1 }>(text: string): T | null {
  try {
    const value = JSON.parse(text) as T | null;
    return typeof value === 'object' && value?.v === 1 ? value : null;
  } catch {
    return null;
  }
}

export const isShortText = (text: unknown): boolean =>
  typeof text === 'string' && text.length <= MAX_TEXT_LENGTH;

export const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
