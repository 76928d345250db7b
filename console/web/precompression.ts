/** Puts a Brotli and a gzip copy beside each text file of the built page, so that no server ever compresses them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import type { Plugin } from 'vite';

const TEXTS = /\.(js|css|svg|json|txt)$/;
/** A copy of less saves no packet. */
const SMALLEST = 1_024;

const withBrotli = promisify(brotliCompress);
const withGzip = promisify(gzip);

export function precompress(): Plugin {
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
  if (text.length < SMALLEST) return;
  const brotli = { params: { [zlib.BROTLI_PARAM_SIZE_HINT]: text.length } };
  const [br, gz] = await Promise.all([withBrotli(text, brotli), withGzip(text, { level: 9 })]);
  writeFileSync(`${path}.br`, br);
  writeFileSync(`${path}.gz`, gz);
}
