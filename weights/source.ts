/** A source of weights: a list of files, immutable under its digest, and their bytes. */

/** How a downloaded file is verified. */
export type Checksum =
  | { kind: 'sha256'; hex: string }
  | { kind: 'md5'; hex: string }
  /** Hash of a git object: SHA-1 over a header and the content. */
  | { kind: 'git'; hex: string }
  /** Hash of an object that was uploaded in parts: MD5 over the MD5s of the parts. */
  | { kind: 'md5-of-parts'; hex: string; partBytes: number };

export interface WeightsFile {
  /** Relative, with slashes. */
  path: string;
  size: number;
  /** null = the source reports none: only the size is checked. */
  checksum: Checksum | null;
}

export interface Manifest {
  /** Identifies exactly these files; usable as a file name. */
  digest: string;
  files: WeightsFile[];
}

export interface WeightsSource {
  /** For people. */
  readonly name: string;
  /** Called at each start, so it is cheap; checksums may still be null. Throws SourceError. */
  list(signal: AbortSignal): Promise<Manifest>;
  /** Fills in more expensive checksums, before a download. Throws SourceError. */
  findChecksums?(manifest: Manifest, signal: AbortSignal): Promise<void>;
  /** The bytes of a file from `start` on. Throws SourceError. */
  read(file: WeightsFile, start: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** The source did not respond, or refused. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  /** Whether another attempt may succeed. */
  readonly isTransient: boolean;

  constructor(message: string, { isTransient, cause }: { isTransient: boolean; cause?: unknown }) {
    super(message, { cause });
    this.isTransient = isTransient;
  }
}

const MAX_FILES = 20_000;
const MAX_PATH_LENGTH = 1_024;
const MAX_PART_LENGTH = 255;
const CONTROL = /[\u0000-\u001f\u007f\\]/;

/** Throws SourceError for files with invalid paths. */
export function checkManifest(manifest: Manifest): Manifest {
  const { files } = manifest;
  const refuse = (why: string) => new SourceError(why, { isTransient: false });
  if (files.length === 0) throw refuse('the source has no files');
  if (files.length > MAX_FILES) throw refuse(`the source has more than ${MAX_FILES} files`);
  for (const { path, size } of files) {
    const parts = path.split('/');
    const isPlain = parts.every(
      (part) => part !== '' && part !== '.' && part !== '..' && part.length <= MAX_PART_LENGTH,
    );
    if (!isPlain || CONTROL.test(path) || path.length > MAX_PATH_LENGTH)
      throw refuse(`the source names a file that cannot be stored: ${JSON.stringify(path.slice(0, 200))}`);
    if (!Number.isSafeInteger(size) || size < 0) throw refuse(`the source gives no size for ${path}`);
  }
  if (new Set(files.map(({ path }) => path)).size < files.length)
    throw refuse('the source names a file twice');
  return manifest;
}

export const totalBytes = ({ files }: Manifest): number => files.reduce((sum, { size }) => sum + size, 0);

/** Whether another attempt may succeed. 501: the server has no such call at all. */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status !== 501);

/** The rest of a body after so many bytes, from a server that ignored the range. */
export async function* skip(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of body) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
