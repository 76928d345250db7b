/**
 * What is in flight, where members come and go with every request. A Set replaces its table again and again; V8's quick
 * collections keep what such an old table names, and with it every request whole, until a full one.
 */
export interface Member {
  /** Its place in the roster; -1 outside. */
  place: number;
}

export class Roster<T extends Member> implements Iterable<T> {
  readonly #members: T[] = [];

  add(member: T): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** False: it was not in it. */
  delete(member: T): boolean {
    const { place } = member;
    if (this.#members[place] !== member) return false;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = -1;
    return true;
  }

  /** In no order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#members[Symbol.iterator]();
  }
}
