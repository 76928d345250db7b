/** Where the simulator differs from recorded answers, and why (recorded-differences/). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface KnownDifference {
  /** A title of the corpus. */
  title: string;
  /** Where the answers differ, or what that is in. */
  at: string;
  reason: string;
}

export class KnownDifferences {
  readonly #known: readonly KnownDifference[];
  readonly #gone: Set<KnownDifference>;

  constructor(engine: string) {
    const path = join(import.meta.dirname, 'recorded-differences', `${engine}.json`);
    const reasons = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string[]>>;
    this.#known = Object.entries(reasons).flatMap(([reason, titles]) =>
      Object.entries(titles).flatMap(([title, places]) => places.map((at) => ({ title, at, reason }))),
    );
    this.#gone = new Set(this.#known);
  }

  /** Whether the difference is listed; notes that it is still there. */
  includes(title: string, at: string): boolean {
    const found = this.#known.filter(
      (row) => row.title === title && (at === row.at || at.startsWith(`${row.at}.`)),
    );
    for (const row of found) this.#gone.delete(row);
    return found.length > 0;
  }

  /** Listed differences that were not seen. */
  listGone(): string[] {
    return [...this.#gone].map(({ title, at }) => `${title}: ${at}`);
  }
}
