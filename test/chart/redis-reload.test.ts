import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { ensureBinary } from '../../cluster/binaries.ts';
import { ensureValkey } from '../../machine/valkey.ts';
import { connectRedis, type RedisConnection, type RedisSettings } from '../../redis/client.ts';
import { loadLibrary } from '../../redis/library.ts';
import { submitRequest } from '../../redis/requests/request-calls.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import { findFreePort } from '../support/child-program.ts';
import { publishMedia, submissionOf } from '../support/request-fixture.ts';
import { IMAGES, setting } from './render.ts';

const run = promisify(execFile);
const PASSWORDS = { operator: 'first$pass/word', front: 'second&', console: 'third|' };
const namespace = 'one';
const deployment = 'film';

interface Rendered {
  /** Data of the ConfigMap. */
  config: Record<string, string>;
  /** Data of the Secret with the certificate that the chart generated. */
  certificate: Record<string, string>;
}

/** Files that the pod of the bundled Redis mounts, as the chart renders them. */
async function renderFiles(...values: string[]): Promise<Rendered> {
  const settings = setting(IMAGES, ...values);
  const { stdout } = await run(
    await ensureBinary('helm'),
    ['template', 'berth', 'charts/berth', ...settings],
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const all = parseAllDocuments(stdout).map((document) => document.toJS()?.data);
  const find = (file: string) => all.find((data) => data?.[file]) as Record<string, string>;
  const decoded = Object.entries(find('tls.crt')).map(([file, text]) => [file, atob(text)]);
  return { config: find('redis.conf'), certificate: Object.fromEntries(decoded) };
}

/** Runs the commands of the pod of the bundled Redis, with a folder as its root. */
describe('the bundled Redis as the chart configures it', function () {
  this.timeout(120_000);
  let root: string;
  let port: number;
  let child: ReturnType<typeof spawn>;
  const connections: RedisConnection[] = [];

  async function open(settings: Partial<RedisSettings> = {}): Promise<RedisConnection> {
    const user = { username: 'berth-operator', password: PASSWORDS.operator };
    const url = `rediss://localhost:${port}`;
    const caFile = join(root, 'tls/ca.crt');
    const connection = connectRedis({ url, caFile, name: 'test', role: 'operator', ...user, ...settings });
    connections.push(connection);
    await connection.untilUp(30_000);
    return connection;
  }

  async function start(): Promise<void> {
    await run('sh', [join(root, 'config/write-users.sh'), root]);
    const args = [join(root, 'config/start.sh'), root, '--tls-port', String(port), '--bind', '127.0.0.1'];
    const path = `${dirname(ensureValkey())}${delimiter}${process.env.PATH}`;
    child = spawn('sh', args, { stdio: 'ignore', env: { ...process.env, PATH: path } });
  }
  const end = (signal: NodeJS.Signals) =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill(signal);
    });

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'berth-bundled-'));
    for (const folder of ['data', 'config', 'secret', 'tls']) mkdirSync(join(root, folder));
    for (const [name, password] of Object.entries(PASSWORDS))
      writeFileSync(join(root, `secret/${name}-password`), password);
    const { config, certificate } = await renderFiles('redis.durability=strict');
    for (const [name, content] of Object.entries(config))
      writeFileSync(join(root, 'config', name), content.replaceAll(/ \/(data|tls)\b/g, ` ${root}/$1`));
    for (const [name, content] of Object.entries(certificate))
      writeFileSync(join(root, 'tls', name), content);
    port = await findFreePort();
    await start();
  });
  after(async () => {
    for (const connection of connections) await connection.close();
    if (child) await end('SIGKILL');
    rmSync(root, { recursive: true, force: true });
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    it(`still has every accepted request after ${signal}`, async () => {
      const { redis } = await open();
      await loadLibrary(redis);
      await publishMedia(redis, { namespace, name: deployment });
      const submissions = Array.from({ length: 5 }, () => submissionOf({ namespace, deployment }));
      for (const submission of submissions)
        expect(await submitRequest(redis, submission)).to.include({ verdict: 'accepted' });
      await end(signal);
      await start();
      const again = await open();
      for (const { id } of submissions)
        expect(await readRequest(again.redis, namespace, id), id).to.include({ status: 'queued' });
    });

  it('lets nobody be the default user, whatever the password', async () => {
    const ca = readFileSync(join(root, 'tls/ca.crt'));
    const socket = connect({ port, host: 'localhost', ca });
    const attempts = ['PING', 'AUTH x', 'AUTH ""', 'AUTH default ""', 'AUTH default x', 'GET x', 'QUIT'];
    socket.write(attempts.map((line) => `${line}\r\n`).join(''));
    const replies = (await text(socket))
      .trim()
      .split('\r\n')
      .map((reply) => reply.split(' ')[0]);
    expect(replies).to.deep.equal([
      '-NOAUTH',
      ...Array.from({ length: 4 }, () => '-WRONGPASS'),
      '-NOAUTH',
      '+OK',
    ]);
  });
});
