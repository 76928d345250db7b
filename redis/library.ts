/** Assembles the functions library from its Lua files, and loads it. Used by the operator and the local launcher; gateways only call functions (decision 0127). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisClient } from './client.ts';
import { FUNCTIONS_LIBRARY } from './function-table.ts';
import { linkLibrary } from './lua-linker.ts';

const FOLDER = join(import.meta.dirname, 'functions');

/** Texts of the Lua files by name. */
export function readFunctionFiles(folder = FOLDER): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.lua'),
  );
  return new Map(files.sort().map((file) => [file, readFileSync(join(folder, file), 'utf8').trim()]));
}

let assembled: string | undefined;
const assembleLibrary = (): string => (assembled ??= linkLibrary(readFunctionFiles()));

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
