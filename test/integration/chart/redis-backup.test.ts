import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ensureValkey } from '../../../machine/valkey.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { REDIS_PASSWORDS, startRedis } from '../../support/redis-server.ts';
import { publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { makeCertificates } from '../../support/test-certificates.ts';

const place = { namespace: 'one', deployment: 'film' };

describe('the backup of the bundled Redis', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'berth-backup-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const certificates = makeCertificates('DNS:localhost,IP:127.0.0.1');
  const authority = join(folder, 'ca.crt');
  const backUp = (port: number, password: string, more: string[] = []) =>
    promisify(execFile)(
      'sh',
      ['charts/berth/files/redis/backup.sh', '127.0.0.1', `${port}`, folder, '2', ...more],
      {
        env: {
          ...process.env,
          PATH: `${dirname(ensureValkey('valkey-check-rdb'))}${delimiter}${process.env.PATH}`,
          REDISCLI_AUTH: password,
        },
      },
    );
  const list = () =>
    readdirSync(folder)
      .filter((file) => file !== 'ca.crt')
      .sort();

  it('is a file from which a new server has every request, and the newest are kept', async () => {
    writeFileSync(authority, certificates.ca);
    const server = await startRedis({ tls: certificates });
    const connection = await connectTo(server, { caFile: authority });
    const submission = submissionOf(place);
    try {
      await loadLibrary(connection.redis);
      await publishMedia(connection.redis, { namespace: 'one', name: 'film' });
      expect(await submitRequest(connection.redis, submission)).to.include({ verdict: 'accepted' });
      for (const old of ['20200101T000000Z', '20210101T000000Z'])
        writeFileSync(join(folder, `berth-${old}.rdb`), '');
      await backUp(server.port, REDIS_PASSWORDS.operator, [authority]);
    } finally {
      await connection.close();
      await server.stop();
    }
    expect(list()).to.have.length(2);
    expect(list()[0]).to.equal('berth-20210101T000000Z.rdb');

    // As described in docs/redis.md.
    const restored = await startRedis({
      prepare: (data) => {
        mkdirSync(join(data, 'appendonlydir'));
        copyFileSync(join(folder, list()[1]!), join(data, 'appendonlydir/appendonly.aof.1.base.rdb'));
        const manifest = 'file appendonly.aof.1.base.rdb seq 1 type b\n';
        writeFileSync(join(data, 'appendonlydir/appendonly.aof.manifest'), manifest);
      },
    });
    const again = await connectTo(restored);
    try {
      expect(await readRequest(again.redis, 'one', submission.id)).to.include({ status: 'queued' });
    } finally {
      await again.close();
      await restored.stop();
    }
  });

  it("fails and leaves no file where the server's certificate is another authority's", async () => {
    writeFileSync(authority, makeCertificates('IP:127.0.0.1').ca);
    const server = await startRedis({ tls: certificates });
    const before = list();
    try {
      const error = (await rejection(backUp(server.port, REDIS_PASSWORDS.operator, [authority]))) as {
        stderr: string;
      };
      expect(error.stderr).to.match(/certificate verify failed/);
    } finally {
      await server.stop();
    }
    expect(list()).to.deep.equal(before);
  });

  it('fails and leaves no file where the password is wrong', async () => {
    const server = await startRedis();
    const before = list().filter((file) => file.endsWith('.rdb'));
    try {
      expect(await rejection(backUp(server.port, 'wrong'))).to.be.instanceOf(Error);
    } finally {
      await server.stop();
    }
    expect(list().filter((file) => file.endsWith('.rdb'))).to.deep.equal(before);
  });
});
