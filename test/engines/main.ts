/**
 * `main.ts MOCHA-ARGUMENTS…`: installs each engine of ENGINES (vllm), runs its tests, and writes what was shown, and when,
 * into the table of docs/engines.md.
 */
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { type EngineName, parseNames, REAL_ENGINES } from './catalog.ts';
import { readMeasures } from './measures.ts';
import { writeRun } from './run-table.ts';

const ARGUMENTS = process.argv.slice(2);
const isFile = (word: string): boolean => word.endsWith('.test.ts');
/** Those that a stage runs again. */
const GIVEN = ARGUMENTS.filter(isFile);
const filesOf = (tests: readonly string[]): string[] => tests.map((test) => `test/engines/${test}.test.ts`);

let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true;
  });

/** Its exit code. */
async function runEngine(name: EngineName): Promise<number> {
  const { install, tests, version } = REAL_ENGINES[name];
  install();
  console.log(`\n${name} ${version}`);
  const start = performance.now();
  const { code, output } = await runMocha(name, GIVEN.length > 0 ? GIVEN : filesOf(tests));
  const minutes = (performance.now() - start) / 60_000;
  const passed = Number(/^ *(\d+) passing\b/m.exec(output)?.[1] ?? 0);
  // A file that ran alone shows a part only.
  if (code === 0 && passed > 0 && GIVEN.length === 0)
    writeRun({ engine: name, version, passed, minutes, measures: readMeasures(output), date: new Date() });
  return code;
}

function runMocha(name: EngineName, files: readonly string[]): Promise<{ code: number; output: string }> {
  const args = ARGUMENTS.filter((word) => !isFile(word));
  return new Promise((resolve) => {
    const child = spawn('mocha', [...args, ...files], {
      env: { ...process.env, ENGINE: name },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
    });
    child.once('close', (code) => resolve({ code: code ?? 1, output: stripVTControlCharacters(output) }));
  });
}

try {
  for (const name of parseNames(process.env.ENGINES || 'vllm'))
    if (!isInterrupted && (await runEngine(name)) !== 0) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
