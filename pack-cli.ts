/** Packs the command `berth` for npm: cli/ in one bundle with what it uses of its dependencies, and its catalog. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from './api/names.ts';
import { bundle } from './bundle-program.ts';
import { CATALOG, catalogPath } from './cli/deployment/catalog.ts';

/** No registry has it: without a scope, npm would look for it there. */
const PACKAGE = '@berth-dev/berth';
const ARCHIVE = 'berth.tgz';
const FOLDER = 'dist-cli';
const PROGRAM = 'dist/main.js';

/** Writes the package into `folder`, in the place of what is there, and packs it; resolves with the path of the archive. */
export async function packCLI(folder: string): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await bundle({ entry: 'cli/main.ts' }, join(folder, 'dist'));
  const program = join(folder, PROGRAM);
  writeFileSync(program, `#!/usr/bin/env node\n${readFileSync(program, 'utf8')}`);
  chmodSync(program, 0o755);
  for (const { file } of CATALOG) cpSync(catalogPath(file), join(folder, 'catalog', file));
  cpSync('cli/README.md', join(folder, 'README.md'));
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
    description: "Deploys models with Berth, chats with them, and says why they don't serve",
    license,
    // Its chunks are modules as well.
    type: 'module',
    engines,
    bin: { berth: PROGRAM },
    files: ['dist', 'catalog'],
  };
}

if (import.meta.main) console.log(`npm install --global ${await packCLI(FOLDER)}`);
