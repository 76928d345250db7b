/** Request parameters to echo in the response: read from the payload, which is kept anyway, only if an engine omitted them. */
import { parseForeignJson } from '../../kit/json.ts';
import { sliceMembers } from './request-body.ts';

/** Limit of one member; larger ones are not echoed, since a stream would repeat them three times. */
const MAX_BYTES = 1024 * 1024;

export class RequestEcho {
  readonly #names: ReadonlySet<string>;
  readonly #readPayload: () => Buffer;
  #slices: ReadonlyMap<string, Buffer> | null = null;

  constructor(names: ReadonlySet<string>, readPayload: () => Buffer) {
    this.#names = names;
    this.#readPayload = readPayload;
  }

  /** A member of the request as sent; undefined if absent or too large. */
  read(name: string): unknown {
    this.#slices ??= sliceMembers(this.#readPayload(), this.#names);
    const slice = this.#slices.get(name);
    return slice && slice.length <= MAX_BYTES ? parseForeignJson(slice.toString()) : undefined;
  }
}
