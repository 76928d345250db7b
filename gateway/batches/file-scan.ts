/** Checks a whole file before any of its lines is run, and notes where its chunks start. Holds one line at a time. */
import { hash } from 'node:crypto';
import {
  type BatchChunk,
  type BatchError,
  CHUNK_BYTES,
  CHUNK_LINES,
  MAX_BATCH_LINE_BYTES,
  MAX_BATCH_LINES,
} from '../../api/batch.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import { type BatchLine, type LineFault, readBatchLine } from './batch-line.ts';
import { type Line, readLines } from './line-reader.ts';

export interface FileScan {
  lines: number;
  /** That all lines ask for; '' without lines, or if they do not agree. */
  endpoint: string;
  chunks: BatchChunk[];
  /** The first ones; empty: the file can be run. */
  errors: BatchError[];
}

export interface ScanOptions {
  modelId: string;
  /** Paths that a line may ask for. */
  paths: readonly string[];
  /** Calls back with the parsed line; throws ApiError for what is no JSON object. */
  parse: (
    bytes: Buffer,
    interpret: (body: JsonBody) => BatchLine | LineFault,
  ) => BatchLine | LineFault | Promise<BatchLine | LineFault>;
}

const MAX_ERRORS = 20;
/** As characters of base64: two of 50,000 ids are equal by chance once in 10^20 files. */
const DIGEST_LENGTH = 22;

export async function scanFile(source: AsyncIterable<Buffer>, options: ScanOptions): Promise<FileScan> {
  const scan = new Scan(options);
  for await (const line of readLines(source, MAX_BATCH_LINE_BYTES)) {
    await scan.add(line);
    if (scan.isFull) break;
  }
  return scan.end();
}

class Scan {
  readonly #options: ScanOptions;
  readonly #errors: BatchError[] = [];
  readonly #chunks: BatchChunk[] = [];
  /** Digests, which are short whatever a client calls its lines. */
  readonly #seen = new Set<string>();
  #endpoint: string | null = null;
  #lines = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#errors.length >= MAX_ERRORS || this.#lines > MAX_BATCH_LINES;
  }

  async add(line: Line): Promise<void> {
    this.#lines++;
    if (this.#lines > MAX_BATCH_LINES) {
      this.#note(null, 'too_many_lines', `The file must have at most ${MAX_BATCH_LINES} lines.`);
      return;
    }
    this.#place(line);
    const known = await this.#read(line);
    if ('code' in known) this.#errors.push({ ...known, line: line.number });
    else this.#check(known, line.number);
  }

  end(): FileScan {
    if (this.#lines === 0) this.#note(null, 'empty_file', 'The file has no lines.');
    return {
      lines: this.#lines,
      endpoint: this.#errors.length === 0 ? (this.#endpoint ?? '') : '',
      chunks: this.#errors.length === 0 ? this.#chunks : [],
      errors: this.#errors,
    };
  }

  async #read({ bytes }: Line): Promise<BatchLine | LineFault> {
    if (bytes === null)
      return {
        code: 'line_too_long',
        message: `A line must have at most ${MAX_BATCH_LINE_BYTES} bytes.`,
        param: null,
      };
    try {
      return await this.#options.parse(bytes, (body) => readBatchLine(body, this.#options));
    } catch (error) {
      const isLines = error instanceof ApiError && error.status < 500 && error.code !== 'request_timeout';
      if (!isLines) throw error;
      // Its message may quote the line.
      return { code: 'invalid_json_line', message: 'The line is not a JSON object.', param: null };
    }
  }

  #check({ customId, url }: BatchLine, number: number): void {
    const digest = hash('sha256', customId, 'base64').slice(0, DIGEST_LENGTH);
    if (this.#seen.has(digest))
      this.#note(number, 'duplicate_custom_id', 'Each `custom_id` must be unique in its file.', 'custom_id');
    this.#seen.add(digest);
    this.#endpoint ??= url;
    if (url !== this.#endpoint)
      this.#note(number, 'mismatched_url', 'All lines of a file must have the same `url`.', 'url');
  }

  #place({ start, end, number }: Line): void {
    const last = this.#chunks.at(-1);
    if (last && last.lines < CHUNK_LINES && end - last.start <= CHUNK_BYTES) {
      last.end = end;
      last.lines++;
    } else this.#chunks.push({ start, end, line: number, lines: 1 });
  }

  #note(line: number | null, code: string, message: string, param: string | null = null): void {
    this.#errors.push({ code, message, param, line });
  }
}
