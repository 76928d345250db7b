/** Whose pod is tried next where the cluster has no room for all. Pure. */

/** A deployment that needs a replica more than it has on nodes. */
export interface Waiting {
  /** `namespace/name`. */
  key: string;
  namespace: string;
  /** Unix milliseconds since when it waits. */
  since: number;
}

/**
 * First come, first served within a workspace; between workspaces the one that holds least goes first, and counts what it is
 * promised here. `held`: replicas on nodes, by workspace.
 */
export function orderFairly(waiting: readonly Waiting[], held: ReadonlyMap<string, number>): Waiting[] {
  const lines = new Map<string, { share: number; line: Waiting[] }>();
  for (const each of [...waiting].sort(byAge)) {
    const entry = lines.get(each.namespace) ?? { share: held.get(each.namespace) ?? 0, line: [] };
    entry.line.push(each);
    lines.set(each.namespace, entry);
  }
  const ordered: Waiting[] = [];
  while (ordered.length < waiting.length) {
    const [next] = [...lines.values()]
      .filter(({ line }) => line.length > 0)
      .sort((a, b) => a.share - b.share || byAge(a.line[0]!, b.line[0]!));
    ordered.push(next!.line.shift()!);
    next!.share++;
  }
  return ordered;
}

const byAge = (a: Waiting, b: Waiting): number => a.since - b.since || (a.key < b.key ? -1 : 1);
