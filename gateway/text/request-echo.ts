/** What a request asked for, to be said again in its answer: read from the payload that is kept anyway, only where an engine left it out. */
import { parseForeignJson } from '../../kit/json.ts';
import { sliceMembers } from './request-body.ts';

/** Of one member; a larger one is not repeated, since a stream would repeat it three times. */
const MAX_BYTES = 1024 * 1024;

export class RequestEcho {
  readonly #names: ReadonlySet<string>;
  readonly #readPayload: () => Buffer;
  #slices: ReadonlyMap<string, Buffer> | null = null;

  constructor(names: ReadonlySet<string>, readPayload: () => Buffer) {
    this.#names = names;
    this.#readPayload = readPayload;
  }

  /** A member of the request as it was sent; undefined where it was not, or is too large. */
  read(name: string): unknown {
    this.#slices ??= sliceMembers(this.#readPayload(), this.#names);
    const slice = this.#slices.get(name);
    return slice && slice.length <= MAX_BYTES ? parseForeignJson(slice.toString()) : undefined;
  }
}
