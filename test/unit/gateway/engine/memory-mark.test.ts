import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { watchMemoryMark } from '../../../../gateway/engine/memory-mark.ts';

describe('the note of an engine that it ran out of memory', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-mark-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const NOW = Date.parse('2026-03-04T12:00:00Z');
  /** Waits end at once, after `meanwhile`. */
  const ask = (since: number, meanwhile: (waited: number) => void = () => {}) => {
    let waited = 0;
    const clock = {
      now: () => waited,
      date: () => new Date(NOW),
      after: (ms: number, callback: () => void) => {
        waited += ms;
        meanwhile(waited);
        queueMicrotask(callback);
        return () => {};
      },
    };
    return watchMemoryMark(join(folder, 'mark'), clock)(since);
  };
  const note = (at: number) => {
    writeFileSync(join(folder, 'mark'), '\n');
    utimesSync(join(folder, 'mark'), at / 1000, at / 1000);
  };

  it('counts for a request that was under way', async () => {
    note(NOW - 1_000);
    expect(await ask(NOW - 5_000)).to.equal(true);
  });

  it('is waited for, since it comes beside the answer, and not for long', async () => {
    let last = 0;
    const late = ask(NOW - 5_000, (waited) => {
      last = waited;
      if (waited === 200) note(NOW);
    });
    expect(await late).to.equal(true);
    expect(last).to.equal(200);
    rmSync(join(folder, 'mark'));
    expect(
      await ask(NOW - 5_000, (waited) => {
        last = waited;
      }),
    ).to.equal(false);
    expect(last).to.equal(500);
  });

  it('does not count from before the request, nor from long before its failure', async () => {
    note(NOW - 6_000);
    expect(await ask(NOW - 5_000)).to.equal(false);
    note(NOW - 60_000);
    expect(await ask(NOW - 600_000)).to.equal(false);
  });

  it('is a file of the engine, and no link to one of the gateway', async () => {
    writeFileSync(join(folder, 'other'), 'secret');
    symlinkSync(join(folder, 'other'), join(folder, 'mark'));
    expect(await ask(0)).to.equal(false);
    rmSync(join(folder, 'mark'));
    mkdirSync(join(folder, 'mark'));
    expect(await ask(0)).to.equal(false);
  });
});
