/** Whose pod is tried next if the cluster lacks capacity for all. Pure. */

/** A deployment that needs a replica more than it has on nodes. */
export interface Waiting {
  /** `namespace/name`. */
  key: string;
  namespace: string;
  /** Unix milliseconds since when it waits, or when its last turn ended. */
  since: number;
  /** In which no node was found for its pod, beyond those that all had. */
  turns: number;
}

/**
 * First come, first served within a workspace; between workspaces the one that holds least is served first, and counts what it is
 * granted here. A turn without success counts like a replica. `held`: replicas on nodes, by workspace.
 */
export function orderFairly(waiting: readonly Waiting[], held: ReadonlyMap<string, number>): Waiting[] {
  const shares = new Map(held);
  const ranked = [...waiting].sort(byAge).map((each) => {
    const share = shares.get(each.namespace) ?? 0;
    shares.set(each.namespace, share + 1);
    return { each, share: share + each.turns };
  });
  // Equal shares stay in order of age.
  return ranked.sort((a, b) => a.share - b.share).map(({ each }) => each);
}

const byAge = (a: Waiting, b: Waiting): number => a.since - b.since || (a.key < b.key ? -1 : 1);
