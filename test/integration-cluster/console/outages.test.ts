/** What the console says while Redis or the API server is away, and how its process ends. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { writePage } from '../../support/page-fixture.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { useConsole } from './console-harness.ts';

const DAY_MS = 86_400_000;

describe('the console in adversity', () => {
  const console = useConsole();

  it('says that Redis is away, and goes on by itself when it is back', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const path = `/api/namespaces/${namespace}/deployments`;
    await console.server.kill();
    const away = await someone.call('GET', `/api/namespaces/${namespace}/deliveries`);
    expect([away.status, away.body.error.code, away.headers.get('retry-after')]).to.deep.equal([
      503,
      'temporarily_unavailable',
      '5',
    ]);
    // An ingress would show a page of its own in place of one that says so.
    expect((await console.person().call('GET', '/readyz')).status).to.equal(200);
    expect((await console.person().call('GET', '/healthz')).status).to.equal(200);
    expect((await console.person().call('GET', '/')).status).to.equal(200);
    await console.server.restart();
    // Within its retry interval the console shows what it knows, also of the session.
    await pollUntil(
      async () => (await someone.call('GET', '/api/session')).body.redisAwaySince === null,
      'the return of Redis',
    );
    expect((await someone.call('GET', path)).status).to.equal(200);
    // Sessions that Redis forgot are over.
    const redis = await connectTo(console.server);
    await redis.redis.flushall();
    await redis.close();
    expect((await someone.call('GET', path)).status).to.equal(401);
    expect((await console.signIn(token)).cookie).to.match(/^__Host-berth=/);
  });

  it('keeps who is signed in while Redis hangs, and shows what Kubernetes knows', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const made = await someone.call('POST', `/api/namespaces/${namespace}/keys`, { name: 'mine' });
    expect(made.status).to.equal(201);
    console.server.pause();
    try {
      const session = await someone.call('GET', '/api/session');
      expect(session.status, JSON.stringify(session.body)).to.equal(200);
      expect(Date.now() - Date.parse(session.body.redisAwaySince)).to.be.within(0, 60_000);
      expect(session.body.namespaces).to.deep.equal([namespace]);
      const keys = await someone.call('GET', `/api/namespaces/${namespace}/keys`);
      expect([keys.status, keys.body[0].name, keys.body[0].usage]).to.deep.equal([200, 'mine', null]);
      expect((await someone.call('GET', `/api/namespaces/${namespace}/deployments`)).status).to.equal(200);
      // Nobody is let in by a cookie that was not seen before.
      const stranger = console.person();
      stranger.cookie = `__Host-berth=${'A'.repeat(43)}`;
      expect((await stranger.call('GET', '/api/session')).status).to.equal(503);
    } finally {
      console.server.resume();
    }
    await pollUntil(
      async () => (await someone.call('GET', '/api/session')).body.redisAwaySince === null,
      'the return of Redis',
    );
  });

  it('cuts a table of usage where Redis leaves in the middle of it: it must not look whole', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const { redis } = console.redis;
    const key = (past: number) =>
      workKeys(namespace).keyUsage('chat', Math.floor(Date.now() / DAY_MS) - past);
    const used = Array.from({ length: 5_000 }, (_, i) => [`${i.toString(16).padStart(24, '0')}:r`, 1]);
    await redis.hset(key(0), ...used.flat());
    for (let past = 1; past < 62; past++) await redis.copy(key(0), key(past));
    const path = `/api/namespaces/${namespace}/usage/keys?format=csv&deployment=chat&from=2026-01-01`;
    const { status, body } = await fetch(console.origin + path, { headers: { cookie: someone.cookie } });
    expect(status).to.equal(200);
    const reader = body!.getReader();
    await reader.read();
    await console.server.kill();
    let error: unknown;
    try {
      while (!(await reader.read()).done);
    } catch (thrown) {
      error = thrown;
    } finally {
      await console.server.restart();
    }
    expect(error).to.be.instanceOf(TypeError);
    await pollUntil(
      async () => (await someone.call('GET', '/api/session')).body.redisAwaySince === null,
      'the return of Redis',
    );
  });

  it('says that the API server is away, and keeps the session', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const path = `/api/namespaces/${namespace}/deployments`;
    await console.api.controlPlane.stop();
    const away = await someone.call('GET', path);
    expect([away.status, away.body.error.message]).to.deep.equal([
      503,
      'The Kubernetes API server did not respond.',
    ]);
    expect((await console.person().call('POST', '/api/session', { token })).status).to.equal(503);
    await console.api.controlPlane.start();
    expect((await someone.call('GET', path)).status).to.equal(200);
  });

  describe('as a process', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-console-process-'));
    mkdirSync(join(folder, 'web'));
    writePage(folder);
    after(() => rmSync(folder, { recursive: true }));

    const start = (change: Record<string, string>) => {
      const env = {
        PATH: process.env.PATH,
        CONSOLE_HOST: '127.0.0.1',
        CONSOLE_PORT: '0',
        CONSOLE_METRICS_PORT: '0',
        CONSOLE_REDIS_URL: console.server.url,
        CONSOLE_KUBERNETES_URL: console.api.controlPlane.url,
        CONSOLE_WEB_FOLDER: join(folder, 'web'),
        ...change,
      };
      const child = spawn(process.execPath, ['console/server/main.ts'], { env });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          output += chunk;
        });
      return { child, output: () => output };
    };
    const end = (child: ChildProcess) =>
      child.exitCode ?? new Promise<number | null>((resolve) => child.once('exit', resolve));

    it('ends in good order on SIGTERM', async () => {
      const { child, output } = start({});
      await pollUntil(() => output().includes('listening'), 'the start');
      child.kill('SIGTERM');
      expect(await end(child)).to.equal(0);
    });

    it('reports in one line what is wrong with its settings', async () => {
      writeFileSync(join(folder, 'empty'), '');
      for (const [change, words] of [
        [{ CONSOLE_REDIS_URL: '' }, 'CONSOLE_REDIS_URL must be set\n'],
        [
          { CONSOLE_WEB_FOLDER: folder },
          `${join(folder, 'index.html')} is missing: the page was not built\n`,
        ],
      ] as [Record<string, string>, string][]) {
        const { child, output } = start(change);
        expect(await end(child)).to.equal(1);
        expect(output()).to.equal(words);
      }
    });
  });
});
