/** A process that tries to take a lock, reports whether it did, and releases it on request. */
import { type ProcessLock, tryProcessLock } from '../../../machine/process-lock.ts';

const path = process.argv[2]!;
let held: ProcessLock | null = null;

process.on('message', (what) => {
  if (what === 'lock') {
    const lock = tryProcessLock(path, 'lock-contender');
    held = 'release' in lock ? lock : null;
  } else held?.release();
  process.send!(held !== null);
});
process.on('disconnect', () => process.exit());
process.send!(true);
