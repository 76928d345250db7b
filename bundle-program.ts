/** Bundles a program with what it uses of its dependencies: to find and read hundreds of modules is most of a start (decision 0290). */
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { build, type Plugin } from 'vite';

export interface Program {
  /** Its main module. */
  entry: string;
  /** A folder of files that it reads at run time. */
  assets?: string;
  /** Packages that it imports but never calls. */
  unused?: string[];
}

/** The programs of the image, by their folders in it. */
export const PROGRAMS = {
  operator: { entry: 'operator/main.ts', assets: 'redis/functions' },
  // Koa's list of all media types takes 6 MiB. Only its own requests and responses ask it, which no middleware here is given.
  gateway: { entry: 'gateway/main.ts', unused: ['mime-db'] },
  'console/server': { entry: 'console/server/main.ts' },
  weights: { entry: 'weights/main.ts' },
  'uninstall-guard': { entry: 'operator/uninstall-guard.ts' },
} as const satisfies Record<string, Program>;

export const bundleProgram = (name: keyof typeof PROGRAMS, folder: string): Promise<void> =>
  bundle(PROGRAMS[name], folder);

/** Writes main.js, its parts and the licenses of what they contain, in the place of what is in `folder`. */
export async function bundle({ entry, assets, unused = [] }: Program, folder: string): Promise<void> {
  const bundle = resolve(dirname(folder), '.bundle');
  await build({
    configFile: false,
    logLevel: 'error',
    plugins: [leaveOut(unused)],
    ssr: { noExternal: true },
    build: {
      ssr: resolve(entry),
      outDir: bundle,
      emptyOutDir: true,
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        output: { entryFileNames: 'main.js', chunkFileNames: '[name].js' },
        // Its generated API is 13 MiB of source that each import would load (decision 0240).
        treeshake: { moduleSideEffects: (id) => !id.includes('/@kubernetes/client-node/') },
      },
    },
  });
  for (const name of readdirSync(bundle).filter((name) => name.endsWith('.js')))
    escapeWords(join(bundle, name));
  if (assets) cpSync(assets, join(bundle, basename(assets)), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(bundle, folder);
}

const NOTHING = '\0nothing';

const leaveOut = (packages: string[]): Plugin => ({
  name: 'leave-out',
  enforce: 'pre',
  resolveId: (id) => (packages.includes(id) ? NOTHING : undefined),
  load: (id) => (id === NOTHING ? 'module.exports = {};' : undefined),
});

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
