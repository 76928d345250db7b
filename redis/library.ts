/** Loads the functions library. Used by the operator and the local launcher; gateways only call functions (decision 0127). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FUNCTIONS_LIBRARY } from '../api/redis-keys.ts';
import type { RedisClient } from './client.ts';

const FOLDER = join(import.meta.dirname, 'functions');
/** Code shared by functions; everything else is local to its file. */
const HEADERS = [
  'header.lua',
  'header-requests.lua',
  'header-request-ends.lua',
  'header-deliveries.lua',
  'header-heartbeats.lua',
];

/** The library's text: the headers, then each file of functions with its own locals. */
function assembleLibrary(): string {
  const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8').trim();
  const functions = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.lua') && !HEADERS.includes(file))
    .sort()
    .map((file) => `do\n${read(file)}\nend`);
  const top = `#!lua name=${FUNCTIONS_LIBRARY}\nlocal LIBRARY = '${FUNCTIONS_LIBRARY}'`;
  return `${[top, ...HEADERS.map(read), ...functions].join('\n\n')}\n`;
}

/** Whether Redis holds exactly this version's library. */
export async function libraryIsLoaded(redis: RedisClient): Promise<boolean> {
  return (await readLoadedCode(redis)) === assembleLibrary();
}

/** Loads the library if Redis holds none or another text of it; older versions stay for older gateways. */
export async function loadLibrary(redis: RedisClient): Promise<'loaded' | 'unchanged'> {
  const code = assembleLibrary();
  if ((await readLoadedCode(redis)) === code) return 'unchanged';
  await redis.function('LOAD', 'REPLACE', code);
  return 'loaded';
}

async function readLoadedCode(redis: RedisClient): Promise<string | null> {
  const reply = await redis.function('LIST', 'LIBRARYNAME', FUNCTIONS_LIBRARY, 'WITHCODE');
  const [library] = reply as unknown[][];
  const index = library?.indexOf('library_code') ?? -1;
  return index < 0 ? null : String(library?.[index + 1]);
}
