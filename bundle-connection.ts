/** Bundles the one module that uses @kubernetes/client-node with the little that it uses of it. */
import { basename, dirname, resolve } from 'node:path';
import { build } from 'vite';

/** Writes `outFile` from `entry`; both may be the same. */
export async function bundleConnection(entry: string, outFile: string): Promise<void> {
  const own = resolve(entry);
  await build({
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true, external: ['undici'] },
    build: {
      ssr: own,
      outDir: resolve(dirname(outFile)),
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        output: { entryFileNames: basename(outFile) },
        external: (id, importer) => importer === own && id.startsWith('.'),
        // Its generated API is 13 MiB of source that every import would load, in every operator (decision 0240).
        treeshake: { moduleSideEffects: (id) => !id.includes('/@kubernetes/client-node/') },
      },
    },
  });
}
