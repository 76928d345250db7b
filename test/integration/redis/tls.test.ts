import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { connectRedis, type RedisConnection, type RedisSettings } from '../../../redis/client.ts';
import { pollUntil } from '../../support/poll.ts';
import { COMMAND_TIMEOUT_MS } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type Certificates, makeCertificates } from '../../support/test-certificates.ts';

const NAMES = 'DNS:localhost,IP:127.0.0.1';
/** A machine whose cores are all busy takes its time for a handshake. */
const UP_TIMEOUT_MS = 60_000;

describe('a Redis that speaks TLS', function () {
  this.timeout(180_000);
  let folder: string;
  let server: RedisServer;
  let first: Certificates;
  let second: Certificates;
  const connections: RedisConnection[] = [];

  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const connect = (settings: Partial<RedisSettings>): RedisConnection => {
    const connection = connectRedis({
      url: server.url,
      name: 'test',
      role: 'operator',
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      ...settings,
    });
    connections.push(connection);
    return connection;
  };
  /** Waits for it: on a busy machine a time-out may come first. */
  const isRefused = async (settings: Partial<RedisSettings>, reason: RegExp): Promise<void> => {
    const connection = connect(settings);
    const matches = () => reason.test(connection.reason ?? '');
    await pollUntil(matches, `the reason is like ${reason}`, UP_TIMEOUT_MS).catch((error: Error) => {
      throw new Error(`${error.message}; it is: ${connection.reason}`);
    });
    expect(connection.state).to.equal('away');
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-redis-tls-'));
    first = makeCertificates(NAMES);
    second = makeCertificates(NAMES);
    server = await startRedis({ tls: first });
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) await connection.close();
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('takes a client that knows its authority', async () => {
    const connection = connect({ caFile: write('right.crt', first.ca) });
    await connection.untilUp(UP_TIMEOUT_MS);
    expect(await connection.redis.set('k', 'v')).to.equal('OK');
  });

  it('is refused with a clear reason where its authority is not the one that is trusted', async () => {
    const caFile = write('wrong.crt', second.ca);
    await isRefused(
      { caFile },
      /^the certificate of Redis is not signed by an authority in .*wrong\.crt \(\w+\)$/,
    );
  });

  it('may answer the refusal with an alert', async () => {
    const connection = connect({ caFile: write('right.crt', first.ca) });
    await connection.untilUp(UP_TIMEOUT_MS);
    const { stream } = connection.redis;
    stream.destroy(new Error('the certificate is refused'));
    await new Promise((resolve) => stream.once('close', resolve));
    stream.emit('error', new Error('an alert'));
    await connection.untilUp(UP_TIMEOUT_MS);
  });

  it("is refused by the system's authorities where no other is given", async () => {
    for (const settings of [{}, { caFile: join(folder, 'none.crt') }])
      await isRefused(
        settings,
        /^the certificate of Redis is not signed by an authority that the system trusts \(\w+\)$/,
      );
  });

  it('must have a certificate of the host that is dialed, or of the name in the address', async () => {
    const caFile = write('names.crt', first.ca);
    const named = (name: string) => `${server.url}?servername=${name}`;
    await isRefused(
      { caFile, url: named('redis.example') },
      /^the certificate of Redis is for a different host name: .*redis\.example/,
    );
    await connect({ caFile, url: named('localhost') }).untilUp(UP_TIMEOUT_MS);
  });

  it('takes nobody without TLS', async () => {
    await isRefused({ url: server.url.replace('rediss:', 'redis:') }, /./);
  });

  it('is taken again, without a restart of the client, once the file has the authority of its new certificate', async () => {
    const caFile = write('rotated.crt', first.ca);
    const connection = connect({ caFile });
    await connection.untilUp(UP_TIMEOUT_MS);
    server.replaceCertificate(second);
    await server.restart();
    await pollUntil(
      () => /is not signed by/.test(connection.reason ?? ''),
      'the new certificate is refused',
      UP_TIMEOUT_MS,
    );
    write('rotated.crt', `${first.ca}${second.ca}`);
    await connection.untilUp(UP_TIMEOUT_MS);
    expect(await connection.redis.ping()).to.equal('PONG');
  });

  it('keeps the connections that it has while its certificate is replaced', async () => {
    const caFile = write('kept.crt', `${first.ca}${second.ca}`);
    const connection = connect({ caFile });
    await connection.untilUp(UP_TIMEOUT_MS);
    const states: string[] = [];
    connection.onStateChange((state) => states.push(state));
    server.replaceCertificate(first);
    // What Valkey does by itself where it is told to look for renewed files.
    const [, path] = (await connection.redis.config('GET', 'tls-cert-file')) as string[];
    await connection.redis.config('SET', 'tls-cert-file', path!);
    await connect({ caFile: write('renewed.crt', first.ca) }).untilUp(UP_TIMEOUT_MS);
    expect(await connection.redis.ping()).to.equal('PONG');
    expect(states).to.deep.equal([]);
  });
});
