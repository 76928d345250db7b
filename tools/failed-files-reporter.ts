/** Mocha's own report, and after it each file in which something failed: `failed file PATH (N passed)`. */
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_FAIL, EVENT_TEST_PASS } = Mocha.Runner.constants;

class FailedFilesReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const passed = new Map<string, number>();
    const failed = new Set<string>();
    runner.on(EVENT_TEST_PASS, ({ file }) => passed.set(file!, (passed.get(file!) ?? 0) + 1));
    // What breaks outside every test has no file.
    runner.on(EVENT_TEST_FAIL, ({ file }) => failed.add(file ?? 'unknown'));
    runner.once(EVENT_RUN_END, () => {
      for (const file of failed) console.log(`failed file ${file} (${passed.get(file) ?? 0} passed)`);
    });
  }
}

export default FailedFilesReporter;
