/** Builds dist/, which is all that the image holds: its programs, and the console's page. */
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'vite';
import { bundleProgram, PROGRAMS } from './bundle-program.ts';

const FOLDER = 'dist';

rmSync(FOLDER, { recursive: true, force: true });
for (const name of Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])
  await bundleProgram(name, join(FOLDER, name));
writeFileSync(join(FOLDER, 'package.json'), '{ "type": "module" }\n');
await build({
  configFile: 'console/web/vite.config.ts',
  logLevel: 'warn',
  build: { outDir: resolve(FOLDER, 'console/web/dist') },
});
