/** Loads a model's weights into a shared cache, before an engine starts or as a prefetch. */
import { writeFile } from 'node:fs/promises';
import { EnvironmentError } from '../kit/environment.ts';
import { openLog } from '../kit/log.ts';
import { redactText } from '../kit/log-redaction.ts';
import { exitOnFatalErrors } from '../kit/program.ts';
import { type LoaderEnvironment, readEnvironment } from './environment.ts';
import { formatGibibytes, InsufficientSpaceError } from './eviction.ts';
import { HubSource } from './hub-source.ts';
import { type Loaded, loadWeights } from './load.ts';
import { SourceError, type WeightsSource } from './source.ts';

/** The kubelet shows its content as the container's message. */
const TERMINATION_LOG = '/dev/termination-log';

exitOnFatalErrors('weights');
const log = openLog({ level: 'info', base: { program: 'weights' } });
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

const startedAt = performance.now();
try {
  const environment = readEnvironment();
  await end(0, describe(await load(environment)));
} catch (error) {
  await end(exitCodeOf(error), explain(error));
}

async function load(environment: LoaderEnvironment): Promise<Loaded | InsufficientSpaceError> {
  const { cachePath, entry, limitBytes, pod, isRequired } = environment;
  const cache = { folder: cachePath, limitBytes };
  try {
    return await loadWeights({
      cache,
      entry,
      source: await openSource(environment),
      pod,
      signal: stopping.signal,
      log: (message) => log.info(redactText(message)),
    });
  } catch (error) {
    // A prefetch without space has nothing to do: a pod makes room.
    if (pod === undefined && !isRequired && error instanceof InsufficientSpaceError) return error;
    throw error;
  }
}

/** The S3 SDK takes long to load, and most starts do not need it. */
async function openSource({ hub, s3 }: LoaderEnvironment): Promise<WeightsSource> {
  if (hub) return new HubSource(hub);
  const { S3Source } = await import('./s3-source.ts');
  return new S3Source(s3!);
}

function describe(loaded: Loaded | InsufficientSpaceError): string {
  if (loaded instanceof InsufficientSpaceError) return `not prefetched: ${loaded.message}`;
  const seconds = `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  const { how, bytes, digest, unasked } = loaded;
  if (unasked !== undefined) return `in the cache: ${digest}; ${unasked}`;
  if (how === 'cached') return `in the cache: ${formatGibibytes(bytes)} (${digest})`;
  const verb = how === 'downloaded' ? 'downloaded' : 'downloaded by another pod:';
  return `${verb} ${formatGibibytes(bytes)} in ${seconds} (${digest})`;
}

function explain(error: unknown): string {
  if (stopping.signal.aborted) return 'stopped';
  return String(redactText(error instanceof Error ? error.message : String(error)));
}

function exitCodeOf(error: unknown): number {
  const isPlain =
    error instanceof SourceError ||
    error instanceof InsufficientSpaceError ||
    error instanceof EnvironmentError;
  if (!isPlain && !stopping.signal.aborted) log.error({ err: error }, 'loading failed');
  return 1;
}

async function end(code: number, message: string): Promise<never> {
  log.info(message);
  await writeFile(TERMINATION_LOG, message, { flag: 'r+' }).catch(() => {});
  process.exit(code);
}
