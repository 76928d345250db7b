import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const TEXTS = /\.(js|css|svg|json|txt)$/;
/** Compressing smaller files saves no packet. */
const MIN_BYTES = 1_024;

const withBrotli = promisify(brotliCompress);
const withGzip = promisify(gzip);

/** Writes Brotli and gzip copies of each text file of the built page, so that the server does not compress them. */
function precompress(): Plugin {
  let folder = '';
  return {
    name: 'precompress',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir);
    },
    closeBundle: async () => {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      await Promise.all(
        files.filter((name) => TEXTS.test(name)).map((name) => compressFile(join(folder, name))),
      );
    },
  };
}

async function compressFile(path: string): Promise<void> {
  const text = readFileSync(path);
  if (text.length < MIN_BYTES) return;
  const brotli = { params: { [zlib.BROTLI_PARAM_SIZE_HINT]: text.length } };
  const [br, gz] = await Promise.all([withBrotli(text, brotli), withGzip(text, { level: 9 })]);
  writeFileSync(`${path}.br`, br);
  writeFileSync(`${path}.gz`, gz);
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), precompress()],
  build: { outDir: 'dist', emptyOutDir: true, reportCompressedSize: true },
});
