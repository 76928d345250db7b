import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { findFreePort } from '../../support/child-program.ts';
import { startFrontProcess } from '../../support/front-process.ts';
import { startReplica } from '../../support/model-replica.ts';

describe('the folder of a spool that nobody named', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-tmp-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const list = () => readdirSync(folder).filter((name) => name.startsWith('berth-spool-'));
  const env = () => ({ TMPDIR: folder, [GATEWAY_ENV.spoolPath]: '' });
  const startFront = async () => {
    const redisURL = `127.0.0.1:${await findFreePort()}`;
    return startFrontProcess({ redisURL, replicaPort: await findFreePort(), env: env() });
  };
  const startSidecar = async () =>
    startReplica({
      redisURL: `127.0.0.1:${await findFreePort()}`,
      engineURL: `http://127.0.0.1:${await findFreePort()}`,
      address: '127.0.0.1',
      port: await findFreePort(),
      env: env(),
    });

  for (const [role, start] of [
    ['front', startFront],
    ['sidecar', startSidecar],
  ] as const)
    it(`goes with a ${role} that ends in good order, and at the next start where it was killed`, async () => {
      const killed = await start();
      const left = `berth-spool-${killed.program.process.pid}`;
      expect(list()).to.deep.equal([left]);
      await killed.stop('SIGKILL');
      expect(list()).to.deep.equal([left]);

      const ending = await start();
      expect(list()).to.deep.equal([`berth-spool-${ending.program.process.pid}`]);
      await ending.stop();
      expect(ending.program.ended).to.equal(0);
      expect(list()).to.deep.equal([]);
    });

  const endedPID = () => spawnSync(process.execPath, ['--version']).pid;

  it('is removed only where its process does not live, and leads nowhere else', async () => {
    const [ended, other] = [endedPID(), endedPID()];
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'file'), '');
    const stay = ['berth-spool-abc', `berth-spool-${ended}-kept`, `berth-spool-${process.ppid}`];
    for (const name of [...stay, `berth-spool-${ended}`]) mkdirSync(join(folder, name));
    symlinkSync(elsewhere, join(folder, `berth-spool-${other}`));
    const own = join(folder, `berth-spool-${process.pid}`);
    const spool = await Spool.open({ folder: own, maxBytes: 1 });
    expect(list().sort()).to.deep.equal([...stay, `berth-spool-${process.pid}`].sort());
    expect(existsSync(join(elsewhere, 'file'))).to.equal(true);
    await spool.close();
    expect(list().sort()).to.deep.equal(stay.sort());
  });

  it('is no other’s to remove for a spool that has a name of its own', async () => {
    const left = `berth-spool-${endedPID()}`;
    mkdirSync(join(folder, left));
    const spool = await Spool.open({ folder: join(folder, 'files'), maxBytes: 1 });
    expect(list()).to.deep.equal([left]);
    await spool.close();
    expect(existsSync(join(folder, 'files'))).to.equal(false);
  });
});
