/** A process that requests a folder of the cache, creates it slowly, and prints its path. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFolder } from '../../../machine/cached-folder.ts';

process.on('message', () => {
  const folder = ensureFolder({
    name: 'thing',
    madeFrom: 'one',
    within: process.argv[2]!,
    make: () => {
      appendFileSync(join(process.argv[2]!, 'makers'), `${process.pid}\n`);
      // Long enough for the others to request it meanwhile.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    },
  });
  process.send!(folder);
});
process.on('disconnect', () => process.exit());
process.send!(true);
