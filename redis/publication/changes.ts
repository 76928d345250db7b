/** Channel messages about changed entries. Only hints; the keys are the source of truth. */
export type PublishedChange =
  | { what: 'apikeys' | 'workspace'; namespace: string }
  | { what: 'deployment' | 'replicas'; namespace: string; name: string }
  | { what: 'hosts' };

export const encodeChange = (change: PublishedChange): string => JSON.stringify(change);

/** Reads a message of either channel; null for one unknown to this version. */
export function decodeChange(message: string): PublishedChange | null {
  const [what, namespace, name] = readParts(message);
  if (what === 'hosts') return { what };
  if ((what === 'apikeys' || what === 'workspace') && namespace) return { what, namespace };
  if ((what === 'deployment' || what === 'replicas') && namespace && name) return { what, namespace, name };
  return null;
}

function readParts(message: string): (string | undefined)[] {
  try {
    const parsed: unknown = JSON.parse(message);
    if (typeof parsed !== 'object' || parsed === null) return [];
    const { what, namespace, name } = parsed as Record<string, unknown>;
    return [what, namespace, name].map((part) => (typeof part === 'string' ? part : undefined));
  } catch {
    return [];
  }
}
