/**
 * What clients send in place of a file, as an object with an `image_url`: a data: URL, which is decoded as it is read, or an
 * address, which is fetched once the rest of the request is validated (docs/api.md, "Images in requests").
 */
import type { ErrorCode } from '../../api/errors.ts';
import type { ApiError } from '../http/error-response.ts';
import { refuseParameter } from '../http/parameter-error.ts';

/** As long as any address that is fetched. */
const MAX_LINK_BYTES = 8_192;
const MAX_DATA_HEAD_BYTES = 256;
const SCHEME = 'data:';
/** The URL-safe alphabet counts as well; padding may only end it. */
const BASE64 = /^[\w+/-]*={0,2}$/;
const GROUP = 4;
const PIECE_CHARACTERS = 64 * 1024;

/** An address, or the bytes of a data: URL. Read once. */
export class ImageReference implements AsyncIterable<Buffer> {
  readonly #text: AsyncIterable<Buffer>;
  readonly #param: string;
  /** Whether what was read is an address; known at the end. */
  isLink = false;

  /** `param`: for errors, what the client calls it. */
  constructor(text: AsyncIterable<Buffer> | string, param: string) {
    this.#text = typeof text === 'string' ? cut(text) : text;
    this.#param = param;
  }

  /** Throws ApiError. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    let head = '';
    let decoder: Base64Decoder | null = null;
    for await (const piece of this.#text) {
      if (decoder) {
        yield this.#decode(decoder, piece.toString('latin1'));
        continue;
      }
      head += piece.toString('latin1');
      const comma = head.slice(0, MAX_DATA_HEAD_BYTES).indexOf(',');
      if (isData(head) && comma >= 0) {
        if (!/;\s*base64$/i.test(head.slice(0, comma))) throw this.#refuse('must be encoded in base64');
        decoder = new Base64Decoder();
        yield this.#decode(decoder, head.slice(comma + 1));
      } else if (head.length > (isData(head) ? MAX_DATA_HEAD_BYTES : MAX_LINK_BYTES))
        throw this.#refuse('is too long for a URL');
    }
    if (decoder) yield this.#end(decoder);
    else {
      if (!/^https?:\/\//i.test(head)) throw this.#refuse('is not a URL of an image');
      this.isLink = true;
      yield Buffer.from(head, 'latin1');
    }
  }

  #decode(decoder: Base64Decoder, text: string): Buffer {
    return decoder.add(text) ?? this.#fail();
  }

  #end(decoder: Base64Decoder): Buffer {
    return decoder.end() ?? this.#fail();
  }

  #fail(): never {
    throw this.#refuse('is not valid base64');
  }

  #refuse(why: string): ApiError {
    return refuseReference('invalid_value', this.#param, why);
  }
}

export const refuseReference = (code: ErrorCode, param: string, why: string): ApiError =>
  refuseParameter(
    code,
    param,
    `\`${param}\` ${why}. It must be an https: URL, or a data: URL such as "data:image/png;base64,…".`,
  );

const isData = (head: string): boolean => head.slice(0, SCHEME.length).toLowerCase() === SCHEME;

/** Each piece is decoded by itself, so nothing but the end of a group is kept. */
class Base64Decoder {
  #pending = '';
  #isPadded = false;

  /** null if it is not base64. */
  add(text: string): Buffer | null {
    if (text === '') return Buffer.alloc(0);
    if (this.#isPadded ? !/^=$/.test(text) : !BASE64.test(text)) return null;
    this.#isPadded = text.endsWith('=');
    const all = this.#pending + text;
    const whole = all.length - (all.length % GROUP);
    this.#pending = all.slice(whole);
    return Buffer.from(all.slice(0, whole), 'base64');
  }

  /** The last group, which may lack its padding. */
  end(): Buffer | null {
    return this.#pending.replace(/=+$/, '').length === 1 ? null : Buffer.from(this.#pending, 'base64');
  }
}

/** A text of a JSON body as if it arrived in pieces: other requests are served between them. */
async function* cut(text: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS)
    yield Buffer.from(text.slice(at, at + PIECE_CHARACTERS));
}
