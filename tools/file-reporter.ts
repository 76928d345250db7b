/**
 * Mocha's own report, and after it the files that took longest, `slow file PATH (N s)`, what failed in a line each,
 * `failed test PATH: TITLE: ERROR`, what was skipped, `skipped test PATH: TITLE`, and each file in which something failed: `failed file PATH (N passed)`.
 */
import { relative, resolve } from 'node:path';
import Mocha from 'mocha';
import { readCauses } from './unhandled-rejections.ts';

const {
  EVENT_HOOK_END,
  EVENT_RUN_END,
  EVENT_TEST_END,
  EVENT_TEST_FAIL,
  EVENT_TEST_PASS,
  EVENT_TEST_PENDING,
} = Mocha.Runner.constants;

/** Candidates for making a stage shorter. */
const MAX_SLOW_FILES = 12;
const SLOW_MS = 10_000;
const MAX_ERROR_LENGTH = 200;

class FileReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const passed = new Map<string, number>();
    const failed = new Set<string>();
    const failures: string[] = [];
    const durationsMs = new Map<string, number>();
    const addDuration = ({ file = 'unknown', duration = 0 }: Mocha.Runnable) =>
      durationsMs.set(file, (durationsMs.get(file) ?? 0) + duration);
    runner.on(EVENT_TEST_END, addDuration);
    runner.on(EVENT_HOOK_END, addDuration);
    runner.on(EVENT_TEST_PASS, ({ file }) => passed.set(file!, (passed.get(file!) ?? 0) + 1));
    // Failures outside of tests have no file.
    runner.on(EVENT_TEST_FAIL, ({ file = 'unknown', title }, reason: Error | string) => {
      const message = typeof reason === 'string' ? reason : String(reason.message);
      const causes = readCauses(message).map((cause) => resolve(cause));
      for (const cause of causes.length > 0 ? causes : [file]) failed.add(cause);
      const error = message.replaceAll(/\s+/g, ' ').slice(0, MAX_ERROR_LENGTH);
      failures.push(`failed test ${relative('', file)}: ${title}: ${error}`);
    });
    const skipped: string[] = [];
    runner.on(EVENT_TEST_PENDING, ({ file = 'unknown', title }) =>
      skipped.push(`skipped test ${relative('', file)}: ${title}`),
    );
    runner.once(EVENT_RUN_END, () => {
      const slow = [...durationsMs].filter(([, ms]) => ms >= SLOW_MS).sort((a, b) => b[1] - a[1]);
      for (const [file, ms] of slow.slice(0, MAX_SLOW_FILES))
        console.log(`slow file ${file} (${Math.round(ms / 1000)} s)`);
      for (const test of [...failures, ...skipped]) console.log(test);
      for (const file of failed) console.log(`failed file ${file} (${passed.get(file) ?? 0} passed)`);
    });
  }
}

export default FileReporter;
