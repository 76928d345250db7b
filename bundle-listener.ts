/** Packs the command `berth-listen`: launch/listener/ in one file, with the little that it uses of its dependencies. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { VERSION } from './api/names.ts';

const ENTRY = 'launch/listener/main.ts';
const COMMAND = 'berth-listen';
/** No registry has it: without a scope, npm would look for it there. */
const PACKAGE = '@berth-dev/listen';
const ARCHIVE = `${COMMAND}.tgz`;
const PROGRAM = `${COMMAND}.js`;
const FOLDER = 'dist-listen';

/** Writes the package into `folder`, in the place of what is there, and packs it; resolves with the path of the archive. */
export async function packListener(folder: string): Promise<string> {
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
  const packed = execFileSync('npm', ['pack', '--silent'], { cwd: folder, encoding: 'utf8' });
  const archive = join(folder, ARCHIVE);
  renameSync(join(folder, packed.trim().split('\n').at(-1)!), archive);
  return archive;
}

function describePackage(): object {
  const { license, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  return {
    name: PACKAGE,
    version: VERSION,
    // Installed from the archive only.
    private: true,
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
  console.log(`npm install --global ${await packListener(FOLDER)}`);
}
