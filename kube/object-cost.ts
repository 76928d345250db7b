/** How much heap an object takes, in one pass without recursion, since it may be nested at will. */

const COLLECTION_BYTES = 32;
const VALUE_BYTES = 16;
/** Of Berth's own resources none is nested half as deep. */
const MAX_DEPTH = 100;

/** Bytes, roughly; infinite beyond `limit`, or where it is nested too deep for those who walk through it. */
export function measureCost(value: unknown, limit: number): number {
  let cost = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
    const next: unknown[] = [];
    for (const each of level) {
      cost += VALUE_BYTES;
      if (typeof each === 'string') cost += each.length;
      else if (typeof each === 'object' && each !== null) {
        cost += COLLECTION_BYTES;
        for (const name in each) {
          if (!Array.isArray(each)) cost += name.length;
          next.push((each as Record<string, unknown>)[name]);
        }
      }
      if (cost > limit) return Number.POSITIVE_INFINITY;
    }
    level = next;
  }
  return cost;
}
