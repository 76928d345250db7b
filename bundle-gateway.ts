/** Bundles the gateway with what it uses of its dependencies: 620 files to find and read are most of the start of a pod's sidecar (decision 0290). */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { build, type Plugin } from 'vite';

/** Writes `folder`/main.js and its parts from `entry`, in the place of what is there; `entry` may be within. */
export async function bundleGateway(entry: string, folder: string): Promise<void> {
  const bundle = resolve(dirname(folder), '.bundle');
  await build({
    configFile: false,
    logLevel: 'error',
    plugins: [leaveOutMediaTypes],
    ssr: { noExternal: true },
    build: {
      ssr: resolve(entry),
      outDir: bundle,
      emptyOutDir: true,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'main.js', chunkFileNames: '[name].js' } },
    },
  });
  for (const name of readdirSync(bundle)) escapeWords(join(bundle, name));
  rmSync(folder, { recursive: true, force: true });
  renameSync(bundle, folder);
}

const NOTHING = '\0nothing';

/** Koa's list of all media types takes 6 MiB. Only its own requests and responses ask it, which no middleware here is given. */
const leaveOutMediaTypes: Plugin = {
  name: 'leave-out-media-types',
  enforce: 'pre',
  resolveId: (id) => (id === 'mime-db' ? NOTHING : undefined),
  load: (id) => (id === NOTHING ? 'module.exports = {};' : undefined),
};

/** V8 keeps a source in half the memory where every character fits a byte. */
function escapeWords(file: string): void {
  const code = readFileSync(file, 'utf8');
  // Behind a backslash, an escape would be none.
  if (/\\[\u0080-\uffff]/.test(code)) return;
  const words = code.replace(/[\u0080-\uffff]/g, (character) => {
    const digits = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${digits}`;
  });
  writeFileSync(file, words);
}
