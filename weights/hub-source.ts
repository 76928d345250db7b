/** A repository on a hub with Hugging Face's API. */
import { BodyTooLargeError, readBody } from '../kit/bounded-body.ts';
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

export interface HubOptions {
  /** Origin, with the mirror's path if it has one. */
  hub: string;
  repository: string;
  /** Branch, tag or commit; the default branch if undefined. */
  revision: string | undefined;
  token: string | undefined;
}

const LIST_TIMEOUT_MS = 30_000;
const MAX_LIST_BYTES = 32 * 1024 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;
const SHA1 = /^[0-9a-f]{40}$/;

interface Sibling {
  rfilename?: unknown;
  size?: unknown;
  blobId?: unknown;
  lfs?: { sha256?: unknown; size?: unknown } | null;
}

export class HubSource implements WeightsSource {
  readonly name: string;
  readonly #options: HubOptions;
  readonly #choose: typeof chooseFiles;
  readonly #base: string;
  #commit = '';

  /** `choose`: the files of the repository that are listed. */
  constructor(options: HubOptions, choose = chooseFiles) {
    this.#options = options;
    this.#choose = choose;
    this.#base = options.hub.replace(/\/+$/, '');
    this.name = options.revision ? `${options.repository}@${options.revision}` : options.repository;
  }

  async list(signal: AbortSignal): Promise<Manifest> {
    const { repository, revision = 'main' } = this.#options;
    const url = `${this.#base}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const answer = await this.#ask(url, {}, AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]));
    const { sha, siblings } = parseList(await readText(answer));
    this.#commit = sha;
    const files = this.#choose(siblings.map(readSibling));
    return checkManifest({ digest: sha, files });
  }

  /** Redirects lead to the storage of the bytes; `fetch` sends the token only to the hub. */
  async read({ path }: WeightsFile, start: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    const url = `${this.#base}/${this.#options.repository}/resolve/${this.#commit}/${encoded}`;
    const answer = await this.#ask(url, start > 0 ? { range: `bytes=${start}-` } : {}, signal);
    if (!answer.body) return toIterable([]);
    return answer.status === 206 || start === 0 ? answer.body : skip(answer.body, start);
  }

  async #ask(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const { token } = this.#options;
    const answer = await fetch(url, {
      // Bytes as stored: a range of a compressed response is not a range of the file.
      headers: {
        'accept-encoding': 'identity',
        ...headers,
        ...(token && { authorization: `Bearer ${token}` }),
      },
      signal,
    }).catch((cause: unknown) => {
      throw new SourceError(`the hub could not be reached: ${describeCause(cause)}`, {
        isTransient: true,
        cause,
      });
    });
    if (answer.ok) return answer;
    await answer.body?.cancel().catch(() => {});
    throw new SourceError(describeStatus(answer.status, this.name), {
      isTransient: isTransientStatus(answer.status),
    });
  }
}

function describeStatus(status: number, name: string): string {
  if (status === 401 || status === 403)
    return `the hub refused ${name} (${status}): it does not exist, or is gated or private and the token is missing or has no access`;
  if (status === 404) return `the hub has no ${name} (404)`;
  return `the hub returned HTTP ${status}`;
}

export function describeCause(error: unknown): string {
  const { message, cause } = error as Error;
  const inner = cause as (Error & { code?: string }) | undefined;
  return inner ? inner.code || inner.message : message;
}

/** Bounded, since the hub is not trusted. */
async function readText(answer: Response): Promise<string> {
  try {
    return answer.body ? (await readBody(answer.body, MAX_LIST_BYTES)).toString() : '';
  } catch (cause) {
    if (cause instanceof BodyTooLargeError)
      throw new SourceError("the hub's list is too long", { isTransient: false });
    throw new SourceError(
      `the connection was interrupted while the hub's list was read: ${describeCause(cause)}`,
      {
        isTransient: true,
        cause,
      },
    );
  }
}

function parseList(text: string): { sha: string; siblings: Sibling[] } {
  try {
    const { sha, siblings } = JSON.parse(text);
    if (SHA1.test(String(sha)) && Array.isArray(siblings)) return { sha: String(sha), siblings };
  } catch {
    // As below.
  }
  throw new SourceError("the hub's list cannot be read", { isTransient: false });
}

function readSibling({ rfilename, size, blobId, lfs }: Sibling): WeightsFile {
  return {
    path: String(rfilename),
    size: Number(lfs?.size ?? size ?? Number.NaN),
    checksum: readChecksum(String(lfs?.sha256 ?? ''), String(blobId ?? '')),
  };
}

function readChecksum(sha256: string, blobId: string): Checksum | null {
  if (SHA256.test(sha256)) return { kind: 'sha256', hex: sha256 };
  return SHA1.test(blobId) ? { kind: 'git', hex: blobId } : null;
}

/** The same weights in other formats, which engines ignore if there are safetensors. */
const OTHER_FORMATS =
  /\.(bin|pt|pth|ckpt|h5|msgpack|ot|onnx|onnx_data|gguf|tflite|mlmodel)$|^(original|onnx|openvino|coreml)\//;
/** For people and for git. */
const UNREAD = /(^|\/)(\.gitattributes|README\.md|LICENSE[^/]*|[^/]*\.(png|jpe?g|gif|svg|mp4|pdf))$/i;

export function chooseFiles(files: readonly WeightsFile[]): WeightsFile[] {
  const read = files.filter(({ path }) => !UNREAD.test(path));
  const hasSafetensors = read.some(({ path }) => path.endsWith('.safetensors'));
  if (!hasSafetensors) return read;
  // A pipeline has its weights in folders; a single file beside them may duplicate all of it.
  const isPipeline = read.some(({ path }) => path === 'model_index.json');
  const isCopy = (path: string) => isPipeline && /^[^/]+\.safetensors$/.test(path);
  return read.filter(({ path }) => !OTHER_FORMATS.test(path) && !isCopy(path));
}

async function* toIterable(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
