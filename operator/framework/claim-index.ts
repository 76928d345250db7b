/**
 * Who owns a thing that can have only one owner: the oldest of those whose name implies it, else of all claimants (decision 0105).
 * Each operation is cheap, however many claim the same thing.
 */
import { findPlace } from './sorted-list.ts';

export interface OwnershipClaim {
  /** `namespace/name` of the claimant. */
  key: string;
  /** It derives from the claimant's name, so an older claimant cannot take it. */
  byName?: boolean;
  /** Unix milliseconds of its creation; ties are broken by key. */
  since: number;
}

export class ClaimIndex {
  /** The owner first. */
  readonly #byThing = new Map<string, OwnershipClaim[]>();
  readonly #byKey = new Map<string, { thing: string; claim: OwnershipClaim }>();

  /** Claims `thing` for `key` instead of its previous claim; returns the keys whose ownership may have changed. */
  claim(thing: string | undefined, claim: OwnershipClaim): string[] {
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

  /** Releases the claim of `key`; returns the new owner, if it changed. */
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

const compareClaims = (a: OwnershipClaim, b: OwnershipClaim): number =>
  Number(b.byName ?? false) - Number(a.byName ?? false) ||
  a.since - b.since ||
  (a.key < b.key ? -1 : Number(a.key > b.key));
