/** Builds the npm package `berth-listen`: launch/listener/ in one file, with the little that it uses of its dependencies. */
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { VERSION } from './api/names.ts';

const ENTRY = 'launch/listener/main.ts';
const COMMAND = 'berth-listen';
const PROGRAM = `${COMMAND}.js`;
const FOLDER = 'dist-listen';

/** Writes the package into `folder`, in the place of what is there: ready for `npm pack` and `npm publish`. */
export async function buildListener(folder: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: ENTRY,
      outDir: folder,
      emptyOutDir: true,
      minify: false,
      target: 'node24',
      license: { fileName: 'THIRD-PARTY.md' },
      rolldownOptions: {
        output: { entryFileNames: PROGRAM, banner: '#!/usr/bin/env node' },
      },
    },
  });
  chmodSync(join(folder, PROGRAM), 0o755);
  cpSync('launch/listener/README.md', join(folder, 'README.md'));
  cpSync('LICENSE', join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);
}

function describePackage(): object {
  const { license, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  return {
    name: COMMAND,
    version: VERSION,
    description:
      'Prints the webhooks of a Berth workspace, forwards them to a program of yours and replays them',
    license,
    type: 'module',
    engines,
    bin: { [COMMAND]: PROGRAM },
    files: [PROGRAM, 'THIRD-PARTY.md'],
  };
}

if (import.meta.main) {
  await buildListener(FOLDER);
  console.log(`${FOLDER}/ is the package: npm pack ./${FOLDER}, or npm publish ./${FOLDER}`);
}
