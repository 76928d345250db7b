/** Reads a multipart form within its limits of size, time and memory: texts into memory, files into the spool. */
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Share, Shares } from '../../kit/shares.ts';
import { type Parties, parsingTurns } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { openLease, untilReserved } from '../http/json-body.ts';
import type { Spool } from '../storage/spool.ts';
import type { FormFields } from './form-fields.ts';
import { FormMemory } from './form-memory.ts';
import { type FileLimits, type Form, FormParts } from './form-parts.ts';
import { checkFormHeaders, malformed, refuseBody } from './form-refusals.ts';

export interface FormLimits extends FileLimits {
  multipartBodyBytes: number;
  uploadTimeoutMs: number;
  promptCharacters: number;
}

export interface FormOptions {
  limits: FormLimits;
  spool: Spool;
  /** Used by its texts until the response; absent = the process's. */
  memory?: Shares;
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
  const types = fields.takesReferences ? 'multipart/form-data or application/json' : 'multipart/form-data';
  checkFormHeaders(party.exchange, options.limits, types);
  const intake = new FormIntake(party, fields, options);
  return intake.read();
}

class FormIntake {
  readonly #exchange: Exchange;
  readonly #limits: FormLimits;
  readonly #lease: Share;
  readonly #memory: FormMemory;
  readonly #parts: FormParts;
  readonly #abort = new AbortController();
  #count = 0;

  constructor(party: Parties, fields: FormFields, { limits, spool, memory }: FormOptions) {
    this.#exchange = party.exchange;
    this.#limits = limits;
    this.#lease = openLease(party, memory);
    this.#parts = new FormParts(fields, { limits, spool, tenant: this.#lease.owner, abort: this.#abort });
    this.#memory = new FormMemory(
      this.#lease,
      limits.promptCharacters * MAX_BYTES_PER_CHARACTER + MAX_PART_HEADER_BYTES,
    );
  }

  async read(): Promise<Form> {
    try {
      await this.#readBody();
      const form = await this.#parts.collect();
      this.#exchange.check();
      return form;
    } catch (error) {
      this.#lease.release();
      await this.#parts.discard(error);
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
      const parseInTurn = (chunk: Buffer) =>
        parsingTurns.take(this.#lease.owner, () => isDone || parse(chunk));
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
      parser.on('finish', () => finish(this.#count === 0 ? malformed('it has no parts') : undefined));
      req.on('data', onData).on('end', onEnd);
      stopListening = this.#exchange.onCancel(finish);
    });
  }

  #createParser(): BusboyInstance {
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
        isPartAFile: (name, type, fileName) => fileName !== undefined || this.#parts.isFile(name ?? '', type),
      });
    } catch (error) {
      throw malformed((error as Error).message.replace(/^Multipart: /, ''));
    }
    const fail = (error: Error) => this.#abort.abort(error);
    const tooMany = () => fail(malformed(`it has more than ${MAX_TEXT_FIELDS} fields or ${MAX_FILES} files`));
    parser.on('fieldsLimit', tooMany).on('filesLimit', tooMany);
    parser.on('field', (name, text, _, isTruncated) => {
      this.#count++;
      this.#memory.endText();
      try {
        if (this.#parts.takeText(String(name), text, isTruncated)) this.#memory.keep(text);
      } catch (error) {
        fail(error as Error);
      }
    });
    parser.on('file', (name, stream, fileName) => {
      this.#count++;
      this.#memory.beginFile(stream);
      // Its reader gets the error, too; unread files are aborted as well.
      stream.on('error', ignore);
      try {
        this.#parts.takeFile(String(name), stream, fileName);
      } catch (error) {
        stream.resume();
        fail(error as Error);
      }
    });
    return parser;
  }
}

const ignore = () => {};
