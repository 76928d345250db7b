/** A prefix of a bucket, or one object. */
import { createHash } from 'node:crypto';
import {
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { retry } from '../kit/retry.ts';
import { createS3Client, type S3Keys } from '../kit/s3-client.ts';
import {
  type Checksum,
  checkManifest,
  isTransientStatus,
  type Manifest,
  SourceError,
  skip,
  type WeightsFile,
  type WeightsSource,
} from './source.ts';

export interface S3Options {
  /** s3://bucket/prefix */
  uri: string;
  endpoint: string | undefined;
  region: string;
  pathStyle: boolean;
  /** undefined: anonymous, or the pod's own identity. */
  keys: S3Keys | undefined;
  workloadIdentity: boolean;
}

const PLAIN_ETAG = /^"?([0-9a-f]{32})"?$/;
const PARTS_ETAG = /^"?([0-9a-f]{32})-(\d+)"?$/;
const HEADS_AT_ONCE = 8;
/** For a response without a body to download. */
const ANSWER_TIMEOUT_MS = 30_000;
const HEAD_RETRIES = {
  backoff: { baseMs: 500, maxMs: 8_000 },
  isTransient: (error: unknown) => error instanceof SourceError && error.isTransient,
  maxAttempts: 5,
};

interface Listed {
  path: string;
  key: string;
  size: number;
  etag: string;
}

export class S3Source implements WeightsSource {
  readonly name: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #pathStyle: boolean;
  /** As listed, by path: later changes are refused. */
  readonly #objects = new Map<string, { key: string; etag: string }>();

  constructor({ uri, endpoint, region, pathStyle, keys, workloadIdentity }: S3Options) {
    this.name = uri;
    const [bucket = '', ...rest] = uri.slice('s3://'.length).split('/');
    this.#bucket = bucket;
    this.#prefix = rest.join('/').replace(/\/+$/, '');
    this.#pathStyle = pathStyle;
    this.#client = createS3Client({
      endpoint,
      region,
      pathStyle,
      keys: keys ?? (workloadIdentity ? 'environment' : 'anonymous'),
      maxAttempts: 1,
    });
  }

  async list(signal: AbortSignal): Promise<Manifest> {
    const found = (await this.#listObjects(signal)).sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const { path, key, etag } of found) this.#objects.set(path, { key, etag });
    const described = found.map(({ path, size, etag }) => [path, size, etag]);
    const digest = createHash('sha256').update(JSON.stringify(described)).digest('hex');
    const files: WeightsFile[] = found.map(({ path, size }) => ({ path, size, checksum: null }));
    return checkManifest({ digest, files });
  }

  async findChecksums({ files }: Manifest, signal: AbortSignal): Promise<void> {
    for (let start = 0; start < files.length; start += HEADS_AT_ONCE)
      await Promise.all(
        files.slice(start, start + HEADS_AT_ONCE).map(async (file) => {
          file.checksum = await this.#findChecksum(file, signal);
        }),
      );
  }

  async #listObjects(signal: AbortSignal): Promise<Listed[]> {
    const found: Listed[] = [];
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: this.#prefix,
        ContinuationToken: token,
      });
      const page = await this.#send('ListObjectsV2', () => this.#client.send(command, bound(signal)));
      // A store that takes no buckets by host lists all its buckets instead, without a name.
      if (!this.#pathStyle && page.Name === undefined)
        throw new SourceError(
          `the bucket of ${this.name} was not found by its host name: its store takes buckets by path, so set pathStyle: true`,
          { isTransient: false },
        );
      for (const { Key = '', Size = 0, ETag = '' } of page.Contents ?? []) {
        const path = relativePath(Key, this.#prefix);
        if (path !== undefined) found.push({ path, key: Key, size: Size, etag: ETag });
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token !== undefined && found.length <= 20_000);
    return found;
  }

  /** The ETag, if it is a checksum: not with KMS keys, nor if the part size is unknown. */
  async #findChecksum(file: WeightsFile, signal: AbortSignal): Promise<Checksum | null> {
    const { key, etag } = this.#objects.get(file.path)!;
    const [, whole] = PLAIN_ETAG.exec(etag) ?? [];
    const [, parts, count] = PARTS_ETAG.exec(etag) ?? [];
    if (!whole && !parts) return null;
    const at = { Bucket: this.#bucket, Key: key, ...(parts && { PartNumber: 1 }) };
    const command = new HeadObjectCommand(at);
    const ask = () => this.#send('HeadObject', () => this.#client.send(command, bound(signal)));
    const head = await retry(ask, { ...HEAD_RETRIES, signal }).catch((error) => {
      if (error instanceof SourceError && !error.isTransient) return undefined;
      throw error;
    });
    if (!head || isOpaque(head)) return null;
    if (whole) return { kind: 'md5', hex: whole };
    const partBytes = head.ContentLength ?? 0;
    const isPart = partBytes > 0 && Math.ceil(file.size / partBytes) === Number(count);
    return isPart ? { kind: 'md5-of-parts', hex: parts!, partBytes } : null;
  }

  async read(file: WeightsFile, start: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { key, etag } = this.#objects.get(file.path)!;
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      IfMatch: etag,
      ...(start > 0 && { Range: `bytes=${start}-` }),
    });
    const { Body, ContentRange } = await this.#send('GetObject', () =>
      this.#client.send(command, { abortSignal: signal }),
    );
    const bytes = Body as unknown as AsyncIterable<Uint8Array>;
    return start === 0 || ContentRange !== undefined ? bytes : skip(bytes, start);
  }

  async #send<T>(call: string, send: () => Promise<T>): Promise<T> {
    try {
      return await send().catch((error) => (isClockCorrected(error) ? send() : Promise.reject(error)));
    } catch (cause) {
      throw toSourceError(cause, `the bucket of ${this.name}`, call);
    }
  }
}

const OTHER_REGION = 'it is in another region, so correct region';
const BY_HOST_ONLY = 'its store takes buckets by host name only, so set pathStyle: false';
const ADVICE: Record<string, string> = {
  PermanentRedirect: OTHER_REGION,
  AuthorizationHeaderMalformed: OTHER_REGION,
  SecondLevelDomainForbidden: BY_HOST_ONLY,
  PathStyleDomainForbidden: BY_HOST_ONLY,
};

/** From the store's refusal the SDK knows its time, and signs the next request right; its types do not say so. */
const isClockCorrected = (error: unknown): boolean =>
  error instanceof S3ServiceException &&
  (error.$metadata as { clockSkewCorrected?: boolean }).clockSkewCorrected === true;

function toSourceError(cause: unknown, bucket: string, call: string): SourceError {
  const { name, message } = cause as Error;
  const status = cause instanceof S3ServiceException ? (cause.$metadata.httpStatusCode ?? 0) : 0;
  if (status === 501)
    return new SourceError(`${bucket} answered 501: its store does not implement ${call}`, {
      isTransient: false,
      cause,
    });
  // A pod without its own credentials is refused, and does not get what others downloaded.
  const isRefused = name === 'CredentialsProviderError';
  const isTransient = !isRefused && (status === 0 || isTransientStatus(status));
  const why = status === 0 ? 'could not be reached' : `answered ${status}`;
  const advice = Object.hasOwn(ADVICE, name) ? `: ${ADVICE[name]}` : '';
  const detail = `${name === 'Error' ? message : name}${advice}`;
  return new SourceError(`${bucket} ${why}: ${detail}`, { isTransient, cause });
}

const bound = (signal: AbortSignal) => ({
  abortSignal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
});

/** Below the prefix; the base name if the prefix is an object itself. `models/a` is not a prefix of `models/ab`. */
function relativePath(key: string, prefix: string): string | undefined {
  if (key.endsWith('/')) return undefined;
  if (key === prefix) return baseName(key);
  if (prefix === '') return key;
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : undefined;
}

const baseName = (path: string): string => path.split('/').at(-1)!;

const isOpaque = ({ ServerSideEncryption, SSECustomerAlgorithm }: HeadObjectCommandOutput): boolean =>
  SSECustomerAlgorithm !== undefined || (ServerSideEncryption ?? 'AES256') !== 'AES256';
