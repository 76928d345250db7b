/** Compares a list with what a watch has delivered, to find changes that the watch missed. */
import { isLaterVersion, isStub, type KubeObject, objectKey } from './object.ts';

/** Where a watch puts what it sees. */
export interface WatchTarget<T extends KubeObject> {
  /** The objects that this watch has put there. */
  current(): T[];
  get(key: string): T | undefined;
  /** What is kept of an object; undefined if it is unknown or not kept. */
  trim(object: T): T | undefined;
  put(object: T): void;
  remove(key: string): void;
  /** Everything has been listed for the first time, or the namespace was set aside. */
  synced(): void;
}

export interface Listing<T> {
  objects: Map<string, T>;
  resourceVersion: string;
}

/** An object of a list, in full if the watch has not delivered it. */
export interface Listed<T> {
  version: string | undefined;
  object?: T;
}

export class ListComparison<T extends KubeObject> {
  readonly #target: WatchTarget<T>;
  /** Keys deleted in the watch since the list started. */
  readonly #deleted = new Set<string>();

  /** Made before the list begins. */
  constructor(target: WatchTarget<T>) {
    this.#target = target;
  }

  /** The watch has seen an object deleted. */
  noteDeletion(key: string): void {
    this.#deleted.add(key);
  }

  /**
   * What is kept of a listed object: only the version if unchanged, or the whole cluster would be in memory twice.
   * Undefined for one of which nothing is kept.
   */
  keep(object: T): Listed<T> | undefined {
    const version = object.metadata.resourceVersion;
    const known = this.#target.get(objectKey(object));
    const isNeeded = this.#isMissed(objectKey(object), { version }) || (known && isStub(known));
    if (!isNeeded) return { version };
    const trimmed = this.#target.trim(object);
    return trimmed && { version, object: trimmed };
  }

  /** Stores objects in full that were stubs before and now have room: they were not missed. */
  complete({ objects }: Listing<Listed<T>>): void {
    for (const [key, { version, object }] of objects) {
      const known = this.#target.get(key);
      const isOutlined = known && isStub(known) && known.metadata.resourceVersion === version;
      if (isOutlined && object && !isStub(object)) this.#target.put(object);
    }
  }

  /** The number of changes that the watch missed and has not delivered since. */
  countMissed(listing: Listing<Listed<T>>): number {
    const changed = [...listing.objects].filter(([key, listed]) => this.#isMissed(key, listed)).length;
    return changed + this.#listVanished(listing).length;
  }

  /** What is missed now was missed when it was listed. */
  repair(listing: Listing<Listed<T>>): void {
    for (const [key, listed] of listing.objects)
      if (this.#isMissed(key, listed)) this.#target.put(listed.object!);
    for (const old of this.#listVanished(listing)) this.#target.remove(objectKey(old));
  }

  /** Whether the list shows a later state than the watch delivered. */
  #isMissed(key: string, { version }: Listed<T>): boolean {
    const known = this.#target.get(key);
    if (!known) return !this.#deleted.has(key);
    return isLaterVersion(version, known.metadata.resourceVersion);
  }

  #listVanished({ objects, resourceVersion }: Listing<unknown>): T[] {
    return this.#target
      .current()
      .filter(
        (known) =>
          !objects.has(objectKey(known)) && !isLaterVersion(known.metadata.resourceVersion, resourceVersion),
      );
  }
}
