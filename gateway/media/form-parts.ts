/** Collects the documented fields of a body: texts into memory, files and what stands for them into the spool. */
import type { Readable } from 'node:stream';
import { ApiError } from '../http/error-response.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import type { Spool, SpooledFile } from '../storage/spool.ts';
import {
  type NumberedField,
  normalizeField,
  readNumber,
  sortByNumber,
  splitReference,
} from './form-field-names.ts';
import type { FormFields } from './form-fields.ts';
import { checkFieldName, malformed, toFileRefusal } from './form-refusals.ts';
import { ImageReference, refuseReference } from './image-reference.ts';

export interface FormFile {
  field: string;
  /** What the client calls it. */
  param: string;
  file: SpooledFile;
  /** The file holds the address of the real one. */
  isLink: boolean;
  /** The client's own; '' if it gave none. */
  fileName?: string;
}

export interface Form {
  texts: ReadonlyMap<string, string>;
  /** In the order of the body, except for those of a field that are all numbered (`image[0]`). */
  files: FormFile[];
}

/** Releases the space of a form's files. */
export async function removeFiles({ files }: Pick<Form, 'files'>): Promise<void> {
  for (const { file } of files) await file.remove();
}

export interface FileLimits {
  fileBytes: number;
}

export interface FormPartsOptions {
  limits: FileLimits;
  spool: Spool;
  /** Whose share of the spool it uses. */
  tenant: string;
  /** Aborted where a file cannot be taken. */
  abort: AbortController;
}

export class FormParts {
  readonly #fields: FormFields;
  readonly #options: FormPartsOptions;
  readonly #texts = new Map<string, string>();
  readonly #files: (NumberedField & { held: Promise<FormFile> })[] = [];

  constructor(fields: FormFields, options: FormPartsOptions) {
    this.#fields = fields;
    this.#options = options;
  }

  /** Whether a part without a file name is read as a file: some clients send neither a name nor a type. */
  isFile(name: string, type: string | undefined): boolean {
    const { texts, files } = this.#fields;
    if (this.#findReference(name)?.member === 'image_url') return true;
    if (type === 'application/octet-stream' && !texts.has(name)) return true;
    return type !== 'text/plain' && files.has(this.#findField(name));
  }

  /** Whether it was kept. Throws ApiError. */
  takeText(name: string, text: string, isTruncated: boolean): boolean {
    checkFieldName(name);
    const { texts, lists, files } = this.#fields;
    if (this.#findReference(name)?.member === 'file_id') throw refuseFileId(name);
    if (files.has(this.#findField(name)))
      throw refuseParameter(
        'invalid_type',
        this.#findField(name),
        `\`${name}\` must be a file, not a text field.`,
      );
    if (!texts.has(name)) return false;
    if (isTruncated) throw new ApiError('request_too_large', `\`${name}\` is too long.`, { param: name });
    const before = this.#texts.get(name);
    if (before !== undefined && !lists?.has(name)) throw malformed(`\`${name}\` appears twice`, name);
    this.#texts.set(name, before === undefined ? text : `${before},${text}`);
    return true;
  }

  /** Throws ApiError. */
  takeFile(name: string, stream: Readable, fileName = ''): void {
    checkFieldName(name);
    if (this.#fields.texts.has(name))
      throw refuseParameter('invalid_type', name, `\`${name}\` must be a text field, not a file.`);
    const reference = this.#findReference(name);
    const field = this.#findField(reference?.name ?? name);
    if (!this.#fields.files.has(field)) stream.resume();
    else if (reference) this.takeReference(name, reference.name, stream);
    else this.#hold(name, { field, param: field, fileName }, stream);
  }

  /** `name`: of the field. Throws ApiError. */
  takeReference(param: string, name: string, text: AsyncIterable<Buffer> | string): void {
    this.#hold(name, { field: this.#findField(name), param }, new ImageReference(text, param));
  }

  /** All that were taken; the caller removes the files. Throws ApiError. */
  async collect(): Promise<Form> {
    const files = await Promise.all(sortByNumber(this.#files).map(({ held }) => held));
    return { texts: this.#texts, files };
  }

  abort(error: unknown): void {
    this.#options.abort.abort(error);
  }

  /** Removes the files. */
  async discard(error: unknown): Promise<void> {
    this.abort(error);
    for (const { held } of this.#files) await held.then(({ file }) => file.remove(), ignore);
  }

  #hold(
    name: string,
    { field, param, fileName }: Pick<FormFile, 'field' | 'param' | 'fileName'>,
    source: AsyncIterable<Buffer>,
  ): void {
    const { limits, spool, tenant, abort } = this.#options;
    const most = this.#fields.files.get(field)!;
    if (this.#files.filter((each) => each.field === field).length === most) throw refuseCount(field, most);
    const held = spool
      .hold(source, { maxBytes: limits.fileBytes, signal: abort.signal, tenant })
      .then((file) => ({
        ...{ field, param, file, ...(fileName !== undefined && { fileName }) },
        isLink: source instanceof ImageReference && source.isLink,
      }))
      .catch((error: unknown) => {
        throw toFileRefusal(error, param, limits);
      });
    held.catch((error: Error) => abort.abort(error));
    this.#files.push({ field, number: readNumber(name), held });
  }

  /** `images[]` counts as `image`, if that is an alias of it. */
  #findField(name: string): string {
    const field = normalizeField(name);
    return this.#fields.aliases?.get(field) ?? field;
  }

  #findReference(name: string): { name: string; member: string } | null {
    const reference = this.#fields.takesReferences ? splitReference(name) : null;
    return reference && this.#fields.files.has(this.#findField(reference.name)) ? reference : null;
  }
}

/** Also used before a list of them is read. */
export const refuseCount = (field: string, most: number): ApiError =>
  refuseParameter(
    'array_above_max_length',
    field,
    most === 1 ? `\`${field}\` must be one file.` : `\`${field}\` must be at most ${most} files.`,
  );

export const refuseFileId = (param: string): ApiError =>
  refuseReference(
    'unsupported_parameter',
    param,
    'is not supported, since this endpoint stores no files: send `image_url` instead',
  );

const ignore = () => {};
