/** A GGUF model of the hub, downloaded once into the cache. An interrupted download is resumed, and each file is checked. */
import { createHash } from 'node:crypto';
import { globSync, statSync } from 'node:fs';
import { mkdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { retry } from '../../kit/retry.ts';
import { tryProcessLock } from '../../machine/process-lock.ts';
import { downloadFile } from '../../weights/download.ts';
import { formatGibibytes } from '../../weights/eviction.ts';
import { HubSource } from '../../weights/hub-source.ts';
import { SourceError, type WeightsFile } from '../../weights/source.ts';
import { DownloadProgress, type ProgressOutput } from './download-progress.ts';
import { chooseVariant, listVariants, type SizedFile, type Variant } from './gguf-variants.ts';

export interface HubOptions {
  /** URL of the hub or of its mirror. */
  hub: string;
  token: string | undefined;
  /** Folder of all models. */
  folder: string;
  log: (line: string) => void;
  /** Told before the download. */
  onChoice: (chosen: Variant, all: readonly Variant[]) => void;
  listAttempts?: number;
  /** Shows the progress. */
  output?: ProgressOutput;
}

const LIST_BACKOFF = { baseMs: 500, maxMs: 4_000 };
const LIST_ATTEMPTS = 3;
/** Room that a download leaves on the disk. */
const SPARE_BYTES = 512 * 1024 ** 2;

/** The paths of its files, the first part of a split model first. Throws with the remedy. */
export async function fetchHubModel(
  repository: string,
  wanted: string | undefined,
  options: HubOptions,
): Promise<string[]> {
  const { hub, token, log, onChoice } = options;
  const source = new HubSource({ hub, repository, revision: undefined, token }, (files) => [...files]);
  const folder = join(options.folder, repository.replace('/', '--'));
  try {
    const variants = listVariants(await listFiles(source, options));
    const chosen = chooseVariant(variants, wanted, repository);
    const { path, bytes } = chosen;
    log(`${repository}: ${path}, ${formatGibibytes(bytes)}`);
    onChoice(chosen, variants);
    const target = join(folder, digestOf(chosen.files));
    await download(source, chosen, target, options);
    return chosen.files.map((file) => join(target, file.path));
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const cached = error.isTransient ? findCached(folder, wanted, repository) : undefined;
    if (!cached) throw new Error(`${error.message}\n${remedyFor(error, hub)}`);
    log(`${error.message}; using ${cached[0]}, which was downloaded before`);
    return cached;
  }
}

async function listFiles(source: HubSource, { listAttempts, log }: HubOptions): Promise<WeightsFile[]> {
  const { files } = await retry(() => source.list(new AbortController().signal), {
    backoff: LIST_BACKOFF,
    maxAttempts: listAttempts ?? LIST_ATTEMPTS,
    isTransient: (error) => error instanceof SourceError && error.isTransient,
    onRetry: ({ message }) => log(`${message}; trying again`),
  });
  return files;
}

/** Other contents are another folder: a new commit downloads only what it changed. */
const digestOf = (files: readonly WeightsFile[]): string =>
  createHash('sha256')
    .update(JSON.stringify(files.map(({ path, size, checksum }) => [path, size, checksum?.hex])))
    .digest('hex')
    .slice(0, 16);

async function download(
  source: HubSource,
  { files, bytes }: Variant<WeightsFile>,
  folder: string,
  { folder: all, output = process.stderr }: HubOptions,
): Promise<void> {
  const present = await countPresent(folder, files);
  if (present.complete === files.length) return;
  await mkdir(folder, { recursive: true });
  const lock = tryProcessLock(`${folder}.lock`, 'launch/local.ts');
  if ('heldBy' in lock)
    throw new Error(`another make run (PID ${lock.heldBy}) is downloading ${source.name}: wait for it`);
  try {
    await checkDisk(all, bytes - present.bytes);
    const progress = new DownloadProgress(bytes, output);
    const { signal } = new AbortController();
    try {
      for (const file of files)
        await downloadFile(join(folder, file.path), file, {
          source,
          signal,
          onBytes: (count) => progress.add(count),
          onPresent: (count) => progress.addPresent(count),
        });
    } finally {
      progress.end();
    }
  } finally {
    lock.release();
  }
}

async function countPresent(folder: string, files: readonly SizedFile[]) {
  let [bytes, complete] = [0, 0];
  for (const { path, size } of files) {
    const sizeOf = (name: string) =>
      stat(join(folder, name)).then(
        (found) => found.size,
        () => 0,
      );
    const whole = await sizeOf(path);
    bytes += whole || (await sizeOf(`${path}.partial`));
    if (whole === size) complete++;
  }
  return { bytes, complete };
}

async function checkDisk(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes + SPARE_BYTES) return;
  throw new Error(
    `not enough disk: ${formatGibibytes(bytes)} to download, and ${formatGibibytes(free)} free in ${folder}\n` +
      'Choose a smaller quantization, remove models from that folder, or set BERTH_CACHE to a folder on another disk.',
  );
}

/** The newest complete download of what MODEL names. */
function findCached(folder: string, wanted: string | undefined, repository: string): string[] | undefined {
  const versions = globSync('*/', { cwd: folder })
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const version of versions) {
    const files = globSync('**/*.gguf', { cwd: version }).map((path) => ({
      path,
      size: statSync(join(version, path)).size,
    }));
    try {
      return chooseVariant(listVariants(files), wanted, repository).files.map(({ path }) =>
        join(version, path),
      );
    } catch {
      // Another version may have it.
    }
  }
  return undefined;
}

function remedyFor({ isTransient, message }: SourceError, hub: string): string {
  if (isTransient)
    return `Check the network (${hub}), set HF_ENDPOINT to the URL of a mirror, or get the file elsewhere and give its path: MODEL=./model.gguf`;
  if (/\((401|403)\)/.test(message))
    return 'Check the name. For a gated or private repository, accept its terms on its page, and set HF_TOKEN to a token of https://huggingface.co/settings/tokens.';
  return `Check the name at ${hub}, and the spelling of owner/repo.`;
}
