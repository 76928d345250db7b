/**
 * Who owns a thing that may have one owner only: the oldest of those that it falls to by name, else of all claimants.
 * Each step costs little, however many claim the same thing.
 */
import { findPlace } from './sorted-list.ts';

export interface Claim {
  /** `namespace/name` of the claimant. */
  key: string;
  /** It is what the claimant's name makes by itself, which nobody else can take from it by being older. */
  byName?: boolean;
  /** Unix milliseconds of its creation; ties go by key. */
  since: number;
}

export class ClaimIndex {
  /** The owner first. */
  readonly #byThing = new Map<string, Claim[]>();
  readonly #byKey = new Map<string, { thing: string; claim: Claim }>();

  /** Claims `thing` for `key` in place of what it claimed before; the keys whose ownership may have changed. */
  claim(thing: string | undefined, claim: Claim): string[] {
    if (this.#byKey.get(claim.key)?.thing === thing) return [];
    const affected = this.release(claim.key);
    if (thing === undefined) return affected;
    const claims = this.#byThing.get(thing) ?? [];
    const owner = claims[0]?.key;
    claims.splice(findPlace(claims, claim, compareClaims), 0, claim);
    this.#byThing.set(thing, claims);
    this.#byKey.set(claim.key, { thing, claim });
    return owner !== undefined && claims[0]!.key === claim.key ? [...affected, owner] : affected;
  }

  /** Gives up what `key` claims; answers who owns it now, if that changed. */
  release(key: string): string[] {
    const known = this.#byKey.get(key);
    if (known === undefined) return [];
    this.#byKey.delete(key);
    const claims = this.#byThing.get(known.thing)!;
    const place = findPlace(claims, known.claim, compareClaims);
    claims.splice(place, 1);
    if (claims.length === 0) this.#byThing.delete(known.thing);
    return place === 0 && claims.length > 0 ? [claims[0]!.key] : [];
  }

  owner(thing: string): string | undefined {
    return this.#byThing.get(thing)?.[0]?.key;
  }
}

const compareClaims = (a: Claim, b: Claim): number =>
  Number(b.byName ?? false) - Number(a.byName ?? false) ||
  a.since - b.since ||
  (a.key < b.key ? -1 : Number(a.key > b.key));
