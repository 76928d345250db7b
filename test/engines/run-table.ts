/** The table of docs/engines.md: a row for each engine, which its last good run writes. Rows of engines that cannot run stay. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface EngineRun {
  engine: string;
  version: string;
  passed: number;
  minutes: number;
  measures: string[];
  date: Date;
}

const DOCUMENT = join(import.meta.dirname, '../../docs/engines.md');

export function writeRun(run: EngineRun): void {
  writeFileSync(DOCUMENT, replaceRow(readFileSync(DOCUMENT, 'utf8'), run));
}

/** Throws where the document has no row for the engine. */
export function replaceRow(document: string, { engine, ...run }: EngineRun): string {
  const row = new RegExp(`^\\| \`${engine}\` \\|.*$`, 'm');
  if (!row.test(document)) throw new Error(`docs/engines.md has no row for ${engine}: add one to its table`);
  const shown = [`${run.passed} tests in ${run.minutes.toFixed(1)} min`, ...run.measures].join('; ');
  const cells = [`\`${engine}\``, run.version, 'run, on a CPU', shown, run.date.toISOString().slice(0, 10)];
  return document.replace(row, () => `| ${cells.join(' | ')} |`);
}
