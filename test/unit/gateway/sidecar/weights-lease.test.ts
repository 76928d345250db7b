import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { keepWeightsLease } from '../../../../gateway/sidecar/weights-lease.ts';
import { createLog } from '../../../../gateway/telemetry/log.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { pollUntil } from '../../../support/poll.ts';

describe('the lease of weights in a shared cache', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-lease-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const keep = () =>
    keepWeightsLease({ folder, podName: 'pod-1', log: createLog('silent', {}), intervalMs: 10 });

  it('is renewed with what it says, and never made: a pod that loaded nothing has none', async () => {
    const stop = keep();
    const path = join(folder, 'pod-1');
    const longAgo = new Date(Date.now() - 3_600_000);
    expect(await readdir(folder)).to.deep.equal([]);
    await writeFile(path, 'digest');
    await utimes(path, longAgo, longAgo);
    await pollUntil(async () => (await stat(path)).mtimeMs > longAgo.getTime() + 60_000, 'a renewal');
    stop();
    expect(await readFile(path, 'utf8')).to.equal('digest');
    expect(await readdir(folder)).to.deep.equal(['pod-1']);
  });

  it('is read no further than a lease is long, whatever another pod made of the file', async () => {
    const path = join(folder, 'pod-1');
    const longAgo = new Date(Date.now() - 3_600_000);
    await writeFile(path, 'digest');
    // Sparse: it occupies no disk space until it is written.
    await truncate(path, 64 * 1024 * 1024);
    await utimes(path, longAgo, longAgo);
    const stop = keep();
    await pollUntil(async () => (await stat(path)).mtimeMs > longAgo.getTime() + 60_000, 'a renewal');
    stop();
    expect((await stat(path)).blocks * 512).to.be.below(1024 * 1024);
    await rm(path);
  });

  it('is never renewed twice at once, so that a volume that hangs takes one thread alone', async () => {
    const clock = new FakeClock();
    let renewals = 0;
    let end = () => {};
    const stop = keepWeightsLease({
      folder,
      podName: 'pod-1',
      log: createLog('silent', {}),
      intervalMs: 10,
      clock,
      renew: () => {
        renewals++;
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    });
    await clock.advance(100);
    expect(renewals).to.equal(1);
    end();
    await pollUntil(async () => {
      await clock.advance(10);
      return renewals === 2;
    }, 'the next renewal');
    stop();
  });
});
