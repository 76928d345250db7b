/** What a check from outside said of objects (a URL's address, a bucket), and when it is asked again. */
import { ANNOTATIONS } from '../../contract/names.ts';
import type { LocalObject } from './resources.ts';

/** Names fail to resolve for moments, and buckets come back. */
const RECHECK_MS = 15_000;

interface Answer {
  generation: number;
  /** null = nothing is wrong; undefined = not known yet. */
  fault: string | null | undefined;
  at: number;
  /** The request for a check that the fault answers. */
  verify?: string;
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
    const before = known?.generation === generation ? known : undefined;
    const asked: Answer = { generation, fault: before?.fault, at: Date.now(), verify: before?.verify };
    this.#answers.set(uid, asked);
    const fault = await this.#ask(object);
    // A later check of the same object is the one that counts.
    if (this.#answers.get(uid) === asked)
      this.#answers.set(uid, { ...asked, fault, verify: object.metadata.annotations?.[ANNOTATIONS.verify] });
  }

  readFault({ metadata }: Pick<LocalObject, 'metadata'>): string | null | undefined {
    return this.#answers.get(metadata.uid)?.fault;
  }

  readVerify({ metadata }: Pick<LocalObject, 'metadata'>): string | undefined {
    return this.#answers.get(metadata.uid)?.verify;
  }

  /** Whether what is told of the object was wrong, a while ago. */
  isStale({ metadata }: LocalObject, now: number): boolean {
    const answer = this.#answers.get(metadata.uid);
    return typeof answer?.fault === 'string' && now - answer.at > RECHECK_MS;
  }
}
