/** Estimates an object's heap size, without recursion, since it may be deeply nested. */

/** V8's maximum per value, without the characters of strings (object-cost.test.ts measures it). */
const VALUE_BYTES = 24;
const COLLECTION_BYTES = 40;
/** With its text, its hidden class or its place in a dictionary; objects of one kind share those of their own names. */
const NAME_BYTES = 96;
const SHARED_NAMES = 64;
/** None of Berth's own resources is nested half as deep. */
const MAX_DEPTH = 100;

/** Approximate bytes; infinite beyond `limit`, or if it is nested too deeply for recursive readers. */
export function measureCost(value: unknown, limit: number): number {
  const names = new Set<string>();
  let cost = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
    const next: unknown[] = [];
    for (const each of level) {
      cost += VALUE_BYTES;
      if (typeof each === 'string') cost += measureText(each);
      else if (typeof each === 'object' && each !== null) {
        cost += COLLECTION_BYTES;
        for (const name in each) {
          if (!Array.isArray(each) && !names.has(name)) {
            names.add(name);
            cost += measureText(name) + (names.size > SHARED_NAMES ? NAME_BYTES : 0);
          }
          next.push((each as Record<string, unknown>)[name]);
        }
      }
      if (cost > limit) return Number.POSITIVE_INFINITY;
    }
    level = next;
  }
  return cost;
}

/** One character beyond Latin-1 makes all of a text take two bytes each. */
const measureText = (text: string): number => (/[^\0-\xff]/.test(text) ? 2 : 1) * text.length;
