/** Folders that are removed at the end of the bench. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = mkdtempSync(join(tmpdir(), 'berth-bench-'));
process.once('exit', () => rmSync(root, { recursive: true, force: true }));

export const makeFolder = (): string => mkdtempSync(join(root, 'part-'));
