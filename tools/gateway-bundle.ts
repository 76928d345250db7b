/** The gateway's program for tests, bundled as for the image: it starts in half the time of its sources. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';

const SOURCES = '{package-lock.json,bundle-program.ts,{api,kit,redis,gateway}/**/*.{ts,lua}}';
const BUNDLES = join(CACHE_FOLDER, 'gateway-bundles');

let built: Promise<string> | undefined;

/** The path of its script, in a folder named by a hash of the sources; built if they changed. */
export const ensureGatewayBundle = (): Promise<string> => {
  built ??= ensure();
  return built;
};

async function ensure(): Promise<string> {
  const folder = join(BUNDLES, hashSources());
  if (!existsSync(folder)) await build(folder);
  // Another checkout removes what has not been used for a day.
  utimesSync(folder, new Date(), new Date());
  return join(folder, 'main.js');
}

function hashSources(): string {
  const hash = createHash('sha256').update(process.version);
  for (const file of globSync(SOURCES).sort()) hash.update(`${file}\n`).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

async function build(folder: string): Promise<void> {
  // Loaded only where it is needed: the bundler takes longer to load than the gateway to start.
  const { bundleProgram } = await import('../bundle-program.ts');
  mkdirSync(BUNDLES, { recursive: true });
  removeOld();
  const draft = mkdtempSync(join(BUNDLES, 'draft-'));
  try {
    await bundleProgram('gateway', join(draft, 'gateway'));
    renameSync(join(draft, 'gateway'), folder);
  } catch (error) {
    // Another process may have built the same.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Each change of the sources leaves one. */
const KEPT_MS = 24 * 3600_000;

function removeOld(): void {
  for (const folder of readdirSync(BUNDLES).map((name) => join(BUNDLES, name)))
    if (Date.now() - statSync(folder).mtimeMs > KEPT_MS) rmSync(folder, { recursive: true, force: true });
}
