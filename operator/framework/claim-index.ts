/**
 * Who owns a thing that may have one owner only: the oldest of those that it falls to by name, else of all claimants.
 * Each step costs one thing's claimants, not all.
 */

export interface Claim {
  /** `namespace/name` of the claimant. */
  key: string;
  /** It is what the claimant's name makes by itself, which nobody else can take from it by being older. */
  byName?: boolean;
  /** Unix milliseconds of its creation; ties go by key. */
  since: number;
}

export class ClaimIndex {
  readonly #byThing = new Map<string, Claim[]>();
  readonly #byKey = new Map<string, string>();

  /** Claims `thing` for `key` in place of what it claimed before; the keys whose ownership may have changed. */
  claim(thing: string | undefined, claim: Claim): string[] {
    const before = this.#byKey.get(claim.key);
    if (before === thing) return [];
    const affected = this.release(claim.key);
    if (thing === undefined) return affected;
    const claims = this.#byThing.get(thing) ?? [];
    const owner = claims[0]?.key;
    claims.push(claim);
    claims.sort(compareClaims);
    this.#byThing.set(thing, claims);
    this.#byKey.set(claim.key, thing);
    return owner !== undefined && claims[0]!.key === claim.key ? [...affected, owner] : affected;
  }

  /** Gives up what `key` claims; answers who owns it now, if that changed. */
  release(key: string): string[] {
    const thing = this.#byKey.get(key);
    if (thing === undefined) return [];
    this.#byKey.delete(key);
    const claims = this.#byThing.get(thing)!;
    const wasOwner = claims[0]!.key === key;
    const rest = claims.filter((claim) => claim.key !== key);
    if (rest.length === 0) this.#byThing.delete(thing);
    else this.#byThing.set(thing, rest);
    return wasOwner && rest.length > 0 ? [rest[0]!.key] : [];
  }

  owner(thing: string): string | undefined {
    return this.#byThing.get(thing)?.[0]?.key;
  }
}

const compareClaims = (a: Claim, b: Claim): number =>
  Number(b.byName ?? false) - Number(a.byName ?? false) || a.since - b.since || (a.key < b.key ? -1 : 1);
