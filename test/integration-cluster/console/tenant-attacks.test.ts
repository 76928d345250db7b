import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CONSOLE_ENV } from '../../../api/console-environment.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { CSRF_HEADER } from '../../../console/api.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { type ChildProgram, findFreePort, startProgram } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { watchAttack, watchLoad } from '../../support/process-load.ts';
import { startTinyClient } from '../../support/tiny-pieces.ts';
import { type Answer, type Person, useConsole } from './console-harness.ts';

const KIB = 1024;
const OBJECTS = 40;
/** More than are in memory at once, of one workspace or of the API server. */
const LISTS = 4;
/** Twice what a workspace may have open. */
const AT_ONCE = 64;
const STRANGERS = 80;
const DAY_MS = 86_400_000;
const DAYS = 30;

/** The console as the chart starts it, and a member who stores what they like and asks for it again and again. */
describe('a console with a malicious member', function () {
  this.timeout(300_000);
  const harness = useConsole();
  const { memoryMiB, nodeOptions } = readChartLimits('console');
  let folder: string;
  let port: number;
  let origin: string;
  let program: ChildProgram;
  let evil: Person;
  let good: Person;
  let spaces: { evil: string; good: string };

  before(async () => {
    port = await findFreePort();
    origin = `http://127.0.0.1:${port}`;
    folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
    writeFileSync(join(folder, 'ca.crt'), harness.api.controlPlane.authority);
    writeFileSync(join(folder, 'token'), await harness.makeToken('berth-system', 'console'));
    program = startProgram('console/server/main.ts', {
      [CONSOLE_ENV.host]: '127.0.0.1',
      [CONSOLE_ENV.port]: String(port),
      [CONSOLE_ENV.metricsPort]: String(await findFreePort()),
      [CONSOLE_ENV.webFolder]: harness.webFolder,
      [CONSOLE_ENV.kubernetesURL]: harness.api.controlPlane.url,
      [CONSOLE_ENV.kubernetesCA]: join(folder, 'ca.crt'),
      [CONSOLE_ENV.tokenPath]: join(folder, 'token'),
      [CONSOLE_ENV.redisURL]: harness.server.url,
      NODE_OPTIONS: nodeOptions,
    });
    const isReady = () =>
      fetch(`${origin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await pollUntil(isReady, 'the console to be ready');
    const members = { evil: await harness.makeMember(), good: await harness.makeMember() };
    spaces = { evil: members.evil.namespace, good: members.good.namespace };
    evil = harness.person(origin);
    good = harness.person(origin);
    for (const [person, { token }] of [
      [evil, members.evil],
      [good, members.good],
    ] as const)
      expect((await person.call('POST', '/api/session', { token })).status).to.equal(200);
  });
  after(async () => {
    await program?.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function createObjects(): Promise<void> {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${spaces.evil}/modeldeployments`;
    const env = Array.from({ length: 29 }, (_, i) => ({ name: `LARGE_${i}`, value: 'x'.repeat(45 * KIB) }));
    const spec = { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator', env } };
    for (let at = 0; at < OBJECTS; at++) {
      const metadata = { name: `large-${at}` };
      const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', metadata, spec };
      expect((await harness.kube('POST', path, object)).status).to.equal(201);
    }
  }

  async function fillKeys(): Promise<void> {
    const { redis } = harness.redis;
    const keys = workKeys(spaces.evil);
    const long = 'x'.repeat(512 * KIB);
    for (let i = 0; i < 200; i++) {
      const id = `req_${String(i).padStart(32, '0')}`;
      const record = {
        deployment: 'large-0',
        modality: 'image',
        registration_id: 1,
        model: 'm',
        status: 'queued',
      };
      await redis.hset(keys.request(id), { ...record, queued_at: i, note: long });
      await redis.zadd(keys.index('large-0', 'all'), i, id);
    }
    await fillResults();
    for (let at = 0; at < 100_000; at += 10_000) {
      const names = Array.from({ length: 10_000 }, (_, i) => [0, `${at + i}`.padEnd(100, 'x')]);
      await redis.zadd(keys.deployments, ...names.flat());
    }
  }

  /** Each as long as responses may be, and expensive to parse. */
  async function fillResults(): Promise<void> {
    const { redis } = harness.redis;
    const keys = workKeys(spaces.evil);
    const result = `[${Array(21_000).fill('{}')}]`;
    for (const deployment of ['parsed-0', 'parsed-1']) {
      await redis.zadd(keys.deployments, Number.MAX_SAFE_INTEGER, deployment);
      for (let i = 0; i < 200; i++) {
        const id = `req_${deployment.at(-1)}${String(i).padStart(31, '0')}`;
        const record = { deployment, modality: 'image', registration_id: 1, model: 'm', status: 'succeeded' };
        await redis.hset(keys.request(id), { ...record, queued_at: i });
        await redis.set(keys.result(id), result);
        await redis.zadd(keys.index(deployment, 'all'), i, id);
      }
    }
  }

  /** Usage in hashes as large as they are read: of all deployments in the last hour, of a few on each day of a month. */
  async function fillUsage(): Promise<void> {
    const { redis } = harness.redis;
    const keys = workKeys(spaces.evil);
    const day = Math.floor(Date.now() / DAY_MS);
    const hour = day * 24 + new Date().getUTCHours();
    const long = Array.from({ length: 7 }, (_, i) => [`long-${i}`, 'x'.repeat(64 * KIB)]);
    await redis.hset('long', ...long.flat());
    const slots = Array.from({ length: 2_400 }, (_, i) => [`${i % 24}:b${Math.floor(i / 24)}`, i]);
    await redis.hset('slots', ...slots.flat(), ...long.slice(4).flat());
    const used = Array.from({ length: 5_000 }, (_, i) => [`${i.toString(16).padStart(24, '0')}:r`, 1]);
    await redis.hset('used', ...used.flat());
    for (let i = 0; i < 60; i++) {
      const deployment = `filled-${i}`;
      await redis.zadd(keys.deployments, Number.MAX_SAFE_INTEGER, deployment);
      for (const period of [hour - 1, hour])
        await redis.copy('long', keys.usage(deployment, 'minute', period));
      for (let past = 0; past <= DAYS && i < 3; past++) {
        await redis.copy('slots', keys.usage(deployment, 'hour', day - past));
        await redis.copy('used', keys.keyUsage(deployment, day - past));
      }
    }
  }

  /** As many rows as one answer has, found at once, before much that has none is read. */
  async function fillRows(): Promise<void> {
    const { redis } = harness.redis;
    const keys = workKeys(spaces.evil);
    const day = Math.floor(Date.now() / DAY_MS);
    const used = Array.from({ length: 4_950 }, (_, i) => [`${i.toString(16).padStart(24, '0')}:r`, 1]);
    const long = Array.from({ length: 7 }, (_, i) => [`long-${i}`, 'x'.repeat(64 * KIB)]);
    await redis.hset('rows', ...used.flat());
    await redis.hset('long', ...long.flat());
    await redis.del(keys.deployments);
    for (let i = 0; i < 4; i++) {
      await redis.zadd(keys.deployments, Number.MAX_SAFE_INTEGER, `filled-${i}`);
      for (let past = 0; past <= DAYS; past++)
        await redis.copy(
          past === 0 && i < 2 ? 'rows' : 'long',
          keys.keyUsage(`filled-${i}`, day - past),
          'REPLACE',
        );
    }
  }

  /** Calls, `many` at once, while another's are timed. Returns the first answer to each path. */
  async function attack(calls: readonly (() => Promise<Answer>)[], many = LISTS): Promise<Answer[]> {
    const load = watchLoad(program, async () => {
      for (const path of ['deployments', 'usage?range=30d', 'usage/deployments']) {
        const { status } = await good.call('GET', `/api/namespaces/${spaces.good}/${path}`);
        if (status !== 200) throw new Error(`${path} of another namespace: ${status}`);
      }
    });
    const [answers] = await Promise.all(
      Array.from({ length: many }, async () => {
        const answers: Answer[] = [];
        for (const call of calls) answers.push(await call());
        return answers;
      }),
    );
    await load.stop();
    expect(program.ended).to.equal(null);
    expect(load.peakMiB(), 'MiB at most').to.be.below(memoryMiB);
    expect(load.slowestMs, 'milliseconds of the slowest answer').to.be.below(10_000);
    return answers!;
  }

  const get = (path: string) => () => evil.call('GET', `/api/namespaces/${spaces.evil}${path}`);

  it('serves all others while strangers sign in with bodies in pieces of one byte', async () => {
    const head = ['POST /api/session HTTP/1.1', `host: 127.0.0.1:${port}`, `origin: ${origin}`];
    head.push(`${CSRF_HEADER}: 1`, 'content-type: application/json', 'transfer-encoding: chunked', '\r\n');
    const end = await watchAttack(program, async () => {
      expect((await fetch(`${origin}/healthz`)).status).to.equal(200);
      const { status } = await good.call('GET', `/api/namespaces/${spaces.good}/deployments`);
      expect(status).to.equal(200);
    });
    const strangers = startTinyClient({
      ...{ host: '127.0.0.1', port, connections: STRANGERS, everyMs: 0, reads: true },
      ...{ head: head.join('\r\n'), bytes: 60_000, first: '{"token":"', last: '"}' },
    });
    const answered = () => strangers.output.split('HTTP/1.1 ').length - 1;
    await pollUntil(() => answered() === STRANGERS, 'all to be answered', 60_000);
    await strangers.stop('SIGKILL');
    await end();
  });

  it('serves all others in time, within the memory that the chart gives it', async () => {
    await createObjects();
    await fillKeys();
    const body = `{"name":"${'x'.repeat(8 * 1024 * KIB)}"}`;
    const refused: Answer = { status: 0, headers: new Headers(), body: null };
    await attack([
      get('/deployments'),
      get('/requests?limit=100'),
      get('/requests?limit=200'),
      get('/usage?range=24h'),
      get('/deliveries'),
      get('/keys'),
      () => evil.call('POST', `/api/namespaces/${spaces.evil}/keys`, body).catch(() => refused),
    ]);
  });

  it('serves all others where usage was filled, and says how to ask for less of it', async () => {
    await fillUsage();
    const [month, hour, keys, , table] = await attack([
      get('/usage?range=30d'),
      get('/usage/deployments'),
      get('/usage/keys'),
      get('/usage/keys?from=2026-01-01&to=2100-01-01'),
      get('/usage/keys?format=csv&deployment=filled-0'),
    ]);
    expect([month!.status, hour!.status]).to.deep.equal([200, 200]);
    expect(keys!.status).to.equal(413);
    expect(keys!.body.error.code).to.equal('answer_too_large');
    expect(keys!.body.error.message).to.match(/10,000 rows.*shorter period.*format=csv/);
    expect([200, 429]).to.include(table!.status);
    const { body } = await get('/usage/keys?format=csv')();
    expect(body.trimEnd().split('\r\n')).to.have.length(1 + 3 * DAYS * 5_000);
  });

  it('has few large answers in memory, however many are wanted at once', async () => {
    await fillRows();
    const statuses: number[] = [];
    const ask = async (path: string) => {
      const answer = await get(path)();
      statuses.push(answer.status);
      return answer;
    };
    const others = ['/usage/keys/totals', '/usage?range=30d', '/usage/deployments'];
    let asked = 0;
    // The largest of all at once, and then one of the others each.
    await attack([() => ask('/usage/keys'), () => ask(others[asked++ % others.length]!)], AT_ONCE);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    const { body } = await get('/usage/keys')();
    expect(body).to.have.length(9_900);
  });
});
