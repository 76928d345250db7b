/** What a check from outside said of objects (a URL's address, a bucket), and when it is asked again. */
import type { LocalObject } from './resources.ts';

/** Names fail to resolve for moments, and buckets come back. */
const RECHECK_MS = 15_000;

interface Answer {
  generation: number;
  /** null = nothing is wrong; undefined = not known yet. */
  fault: string | null | undefined;
  at: number;
}

export class CheckedObjects {
  readonly #ask: (object: LocalObject) => Promise<string | null>;
  readonly #answers = new Map<string, Answer>();

  constructor(ask: (object: LocalObject) => Promise<string | null>) {
    this.#ask = ask;
  }

  /** Of what is looked at again, the last answer stands until the next. */
  async check(object: LocalObject): Promise<void> {
    const { uid, generation } = object.metadata;
    const known = this.#answers.get(uid);
    const before = known?.generation === generation ? known.fault : undefined;
    const asked: Answer = { generation, fault: before, at: Date.now() };
    this.#answers.set(uid, asked);
    const fault = await this.#ask(object);
    // A later check of the same object is the one that counts.
    if (this.#answers.get(uid) === asked) this.#answers.set(uid, { ...asked, fault });
  }

  readFault({ metadata }: Pick<LocalObject, 'metadata'>): string | null | undefined {
    return this.#answers.get(metadata.uid)?.fault;
  }

  /** Whether what is told of the object was wrong, a while ago. */
  isStale({ metadata }: LocalObject, now: number): boolean {
    const answer = this.#answers.get(metadata.uid);
    return typeof answer?.fault === 'string' && now - answer.at > RECHECK_MS;
  }
}
