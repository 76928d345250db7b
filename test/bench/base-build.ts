/** `BASE=COMMIT make bench`: an earlier commit, built in a folder of its own, measured in turn with this one. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import type { Command } from './pinned-process.ts';
import type { System } from './systems.ts';

const COMMIT = process.env.BASE;
export const BASE_NAME = 'base';

/** Its own code makes its configuration and what it reads from Redis, since both differ between versions. */
const HOLDER = `
const { listSystems, publishBench } = await import('./test/bench/systems.ts');
const { withRedis } = await import('./test/bench/redis.ts');
const berth = listSystems().find(({ name }) => name === 'berth');
const tell = (value) => console.log('JSON ' + JSON.stringify(value));
tell({ command: berth.buildCommand(), port: await berth.findPort() });
for await (const _ of process.stdin) {
  await withRedis(async (redis) => { await redis.flushall(); await publishBench(redis); });
  tell('published');
}`;

let holder: ChildProcess | undefined;

/** The base's sidecar; undefined where none is asked for. Its bench must be able to run on this machine, too. */
export async function startBase(): Promise<System | undefined> {
  const folder = findBase();
  if (!folder) return undefined;
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLDER], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  holder = child;
  const { command, port } = (await readJSON(lines)) as { command: Command; port: number };
  const args = command.args.map((arg) => (arg.startsWith('dist/') ? join(folder, arg) : arg));
  return {
    name: BASE_NAME,
    findPort: () => port,
    buildCommand: () => ({ ...command, args }),
    publish: async () => {
      child.stdin.write('publish\n');
      await readJSON(lines);
    },
  };
}

/** The folder of the base; undefined where none is asked for. */
export const findBase = (): string | undefined => (COMMIT ? ensureBase(COMMIT) : undefined);

export function stopBase(): void {
  holder?.kill();
}

async function readJSON(lines: AsyncIterator<string>): Promise<unknown> {
  for (;;) {
    const { done, value } = await lines.next();
    if (done) throw new Error('the base ended');
    if (value.startsWith('JSON ')) return JSON.parse(value.slice('JSON '.length));
  }
}

function ensureBase(commit: string): string {
  const id = execFileSync('git', ['rev-parse', '--short=12', `${commit}^{commit}`], {
    encoding: 'utf8',
  }).trim();
  const folder = join(CACHE_FOLDER, `bench-base-${id}`);
  if (existsSync(folder)) return folder;
  console.log(`building ${commit}, which takes some minutes the first time…`);
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const run = (command: string) =>
    execFileSync('bash', ['-ec', command], { stdio: ['ignore', 'ignore', 'inherit'] });
  run(`set -o pipefail; git archive ${id} | tar -x -C '${draft}'`);
  run(`cd '${draft}' && npm ci --silent && PATH="$PWD/node_modules/.bin:$PATH" make build`);
  renameSync(draft, folder);
  return folder;
}
