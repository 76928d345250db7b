/**
 * Root hooks of Mocha: a rejection that nobody handles fails the file of the test that left it behind, and no other. By itself, Mocha
 * ignores it while tests run, and between two files it ends the process, with what that still has to run.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { relative } from 'node:path';

interface Hook {
  currentTest?: { file?: string; title: string };
}

/** The test from which something goes on. */
const place = new AsyncLocalStorage<string>();
const faults = new Map<unknown, string>();

const note = (reason: unknown): void => {
  if (!faults.has(reason)) faults.set(reason, place.getStore() ?? 'no file');
};
/** While tests run, Mocha handles exceptions. */
const noteException = (error: unknown): void => {
  if (process.listenerCount('uncaughtException') === 1) note(error);
};

process.on('unhandledRejection', note);
process.on('uncaughtException', noteException);
// After each file, a worker of Mocha removes all listeners.
process.on('removeListener', (event: string, listener: unknown) => {
  if (listener === note || listener === noteException) process.on(event, listener as typeof note);
});

export const mochaHooks = {
  beforeEach(this: Hook): void {
    const { file = '', title = '' } = this.currentTest ?? {};
    place.enterWith(`${relative('', file)}: ${title}`);
  },
  afterAll(): void {
    const lines = [...faults].map(([reason, where]) => `unhandled in ${where}: ${describe(reason)}`);
    faults.clear();
    if (lines.length > 0) throw new Error(lines.join('\n'));
  },
};

const describe = (reason: unknown): string =>
  reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);

/** The files that caused a failure, by its message; none if it is another failure. */
export const readCauses = (message: string): string[] =>
  [...message.matchAll(/^unhandled in (\S+\.test\.ts): /gm)].map(([, file]) => file!);
