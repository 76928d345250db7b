/** Reads a multipart form within its limits of size, time and memory: texts into memory, files into the spool. */
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { BodyLease, BodyMemory } from '../http/body-memory.ts';
import { type Parties, parsingTurns } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { openLease, untilReserved } from '../http/json-body.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import type { Spool, SpooledFile } from '../storage/spool.ts';
import { type NumberedField, normalizeField, readNumber, sortByNumber } from './form-field-names.ts';
import { FormMemory } from './form-memory.ts';
import { checkFieldName, checkFormHeaders, malformed, refuseBody, toFileRefusal } from './form-refusals.ts';

/** Names of the documented fields; all others are skipped. */
export interface FormFields {
  texts: ReadonlySet<string>;
  /** Fields that may be sent several times; their values are joined by commas. */
  lists?: ReadonlySet<string>;
  /** With the maximum number of files of each. */
  files: ReadonlyMap<string, number>;
}

export interface FormLimits {
  fileBytes: number;
  multipartBodyBytes: number;
  uploadTimeoutMs: number;
  promptCharacters: number;
}

export interface FormOptions {
  limits: FormLimits;
  spool: Spool;
  /** Used by its texts until the response; absent = the process's. */
  memory?: BodyMemory;
}

export interface FormFile {
  field: string;
  file: SpooledFile;
}

export interface Form {
  texts: ReadonlyMap<string, string>;
  /** In the order of the body, except for those of a field that are all numbered (`image[0]`). */
  files: FormFile[];
}

/** Releases the memory of a failed form. */
export async function removeFiles({ files }: Form): Promise<void> {
  for (const { file } of files) await file.remove();
}

const MAX_TEXT_FIELDS = 100;
const MAX_FILES = 40;
const MAX_PART_HEADER_BYTES = 8 * 1024;
const MAX_BYTES_PER_CHARACTER = 4;

/**
 * The caller removes the files. Throws ApiError, or ClientDisconnectedError if the client disconnects early; no file is left
 * then.
 */
export async function readForm(party: Parties, fields: FormFields, options: FormOptions): Promise<Form> {
  checkFormHeaders(party.exchange, options.limits);
  const intake = new FormIntake(party, fields, options);
  return intake.read();
}

class FormIntake {
  readonly #exchange: Exchange;
  readonly #fields: FormFields;
  readonly #limits: FormLimits;
  readonly #spool: Spool;
  /** Whose share of memory and spool it uses. */
  readonly #tenant: string;
  readonly #lease: BodyLease;
  readonly #memory: FormMemory;
  readonly #texts = new Map<string, string>();
  readonly #files: (NumberedField & { held: Promise<SpooledFile> })[] = [];
  readonly #abort = new AbortController();
  #parts = 0;

  constructor(party: Parties, fields: FormFields, { limits, spool, memory }: FormOptions) {
    this.#exchange = party.exchange;
    this.#fields = fields;
    this.#limits = limits;
    this.#spool = spool;
    this.#lease = openLease(party, memory);
    this.#tenant = this.#lease.tenant;
    this.#memory = new FormMemory(
      this.#lease,
      limits.promptCharacters * MAX_BYTES_PER_CHARACTER + MAX_PART_HEADER_BYTES,
    );
  }

  async read(): Promise<Form> {
    try {
      await this.#readBody();
      const files = await Promise.all(
        sortByNumber(this.#files).map(async ({ field, held }) => ({ field, file: await held })),
      );
      this.#exchange.check();
      return { texts: this.#texts, files };
    } catch (error) {
      this.#abort.abort(error);
      this.#lease.release();
      for (const { held } of this.#files) await held.then((file) => file.remove(), ignore);
      throw error;
    }
  }

  #readBody(): Promise<void> {
    const { req } = this.#exchange;
    const { multipartBodyBytes, uploadTimeoutMs } = this.#limits;
    const parser = this.#createParser();
    return new Promise((resolve, reject) => {
      let isDone = false;
      let isWaiting = false;
      let hasEnded = false;
      let stopListening: (() => void) | undefined;
      const finish = (error?: Error) => {
        if (isDone) return;
        isDone = true;
        clearTimeout(timer);
        stopListening?.();
        req.off('data', onData).off('end', onEnd);
        this.#abort.signal.removeEventListener('abort', onAbort);
        if (!error) return resolve();
        this.#abort.abort(error);
        // The rest is discarded, so that a client that is still sending receives the response.
        req.resume();
        parser.destroy();
        reject(error);
      };
      const parse = (chunk: Buffer): boolean => {
        let canTakeMore = false;
        this.#memory.count(chunk.length, () => {
          canTakeMore = parser.write(chunk);
        });
        if (isDone || canTakeMore) return true;
        req.pause();
        parser.once('drain', () => req.resume());
        return false;
      };
      const parseInTurn = (chunk: Buffer) => parsingTurns.take(this.#tenant, () => isDone || parse(chunk));
      const onData = (chunk: Buffer) => {
        if (this.#memory.size + chunk.length > multipartBodyBytes)
          return finish(refuseBody(multipartBodyBytes));
        const reservation = this.#memory.reserve(chunk.length);
        const parsing =
          reservation === true
            ? parseInTurn(chunk)
            : untilReserved(this.#exchange, reservation).then(() => parseInTurn(chunk));
        if (!(parsing instanceof Promise)) return;
        req.pause();
        isWaiting = true;
        parsing.then((canTakeMore) => {
          isWaiting = false;
          if (isDone) return;
          if (canTakeMore) req.resume();
          if (hasEnded) parser.end();
        }, finish);
      };
      // Also emitted while paused, once its last chunk was passed on.
      const onEnd = () => {
        hasEnded = true;
        if (!isWaiting) parser.end();
      };
      const onAbort = () => finish(this.#abort.signal.reason);
      const timer = setTimeout(() => {
        finish(
          new ApiError('request_timeout', `The body did not arrive within ${uploadTimeoutMs / 1000} s.`),
        );
      }, uploadTimeoutMs);
      this.#abort.signal.addEventListener('abort', onAbort);
      parser.on('error', (error: Error) => finish(malformed(error.message)));
      parser.on('finish', () => finish(this.#parts === 0 ? malformed('it has no parts') : undefined));
      req.on('data', onData).on('end', onEnd);
      stopListening = this.#exchange.onCancel(finish);
    });
  }

  #createParser(): BusboyInstance {
    const { files, texts } = this.#fields;
    let parser: BusboyInstance;
    try {
      parser = new Busboy({
        headers: this.#exchange.req.headers as { 'content-type': string },
        limits: {
          fields: MAX_TEXT_FIELDS,
          files: MAX_FILES,
          fieldSize: this.#limits.promptCharacters * MAX_BYTES_PER_CHARACTER + 1,
          headerSize: MAX_PART_HEADER_BYTES,
        },
        // Files of some clients have neither a name nor a type.
        isPartAFile: (name, type, fileName) =>
          fileName !== undefined ||
          (type === 'application/octet-stream' && !texts.has(name ?? '')) ||
          (type !== 'text/plain' && files.has(normalizeField(name ?? ''))),
      });
    } catch (error) {
      throw malformed((error as Error).message.replace(/^Multipart: /, ''));
    }
    const fail = (error: Error) => this.#abort.abort(error);
    const tooMany = () => fail(malformed(`it has more than ${MAX_TEXT_FIELDS} fields or ${MAX_FILES} files`));
    parser.on('fieldsLimit', tooMany).on('filesLimit', tooMany);
    parser.on('field', (name, text, _, isTruncated) => {
      this.#parts++;
      this.#memory.endText();
      try {
        this.#takeText(String(name), text, isTruncated);
      } catch (error) {
        fail(error as Error);
      }
    });
    parser.on('file', (name, stream) => {
      this.#parts++;
      this.#memory.beginFile(stream);
      // Its reader gets the error, too; unread files are aborted as well.
      stream.on('error', ignore);
      try {
        this.#takeFile(String(name), stream);
      } catch (error) {
        stream.resume();
        fail(error as Error);
      }
    });
    return parser;
  }

  #takeText(name: string, text: string, isTruncated: boolean): void {
    checkFieldName(name);
    if (this.#fields.files.has(normalizeField(name)))
      throw refuseParameter(
        'invalid_type',
        normalizeField(name),
        `\`${name}\` must be a file, not a text field.`,
      );
    if (!this.#fields.texts.has(name)) return;
    if (isTruncated) throw new ApiError('request_too_large', `\`${name}\` is too long.`, { param: name });
    const before = this.#texts.get(name);
    const isList = this.#fields.lists?.has(name) ?? false;
    if (before !== undefined && !isList) throw malformed(`\`${name}\` appears twice`, name);
    this.#texts.set(name, before === undefined ? text : `${before},${text}`);
    this.#memory.keep(text);
  }

  #takeFile(name: string, stream: Readable): void {
    checkFieldName(name);
    const field = normalizeField(name);
    if (this.#fields.texts.has(name))
      throw refuseParameter('invalid_type', name, `\`${name}\` must be a text field, not a file.`);
    const most = this.#fields.files.get(field);
    if (most === undefined) {
      stream.resume();
      return;
    }
    if (this.#files.filter((each) => each.field === field).length === most)
      throw refuseParameter(
        'array_above_max_length',
        field,
        most === 1 ? `\`${field}\` must be one file.` : `\`${field}\` must be at most ${most} files.`,
      );
    const held = this.#spool
      .hold(stream, { maxBytes: this.#limits.fileBytes, signal: this.#abort.signal, tenant: this.#tenant })
      .catch((error: unknown) => {
        throw toFileRefusal(error, field, this.#limits);
      });
    held.catch((error: Error) => this.#abort.abort(error));
    this.#files.push({ field, number: readNumber(name), held });
  }
}

const ignore = () => {};
