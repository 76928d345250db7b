import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { type ChildProgram, findFreePort, startProgram } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { watchLoad } from '../../support/process-load.ts';
import { connectTo } from '../../support/redis-client.ts';
import { operatorEnvironment } from './operator-environment.ts';
import { useHarness } from './operator-harness.ts';

const KIB = 1024;
/** Some 170 MiB of text, of which the operator keeps a part. */
const OBJECTS = 240;
const listValues = (count: number) => ({
  env: Array.from({ length: count }, (_, i) => ({ name: `LARGE_${i}`, value: 'x'.repeat(45 * KIB) })),
});
/** Nearly all that the API server takes of an object, and nearly all that the operator keeps of one. */
const SPECS = [listValues(20), listValues(9)];

/** The operator as the chart starts it, beside a namespace and a Redis user that write what they like. */
describe('an operator with a malicious workspace', function () {
  this.timeout(900_000);
  const harness = useHarness();
  const { memoryMiB, nodeOptions } = readChartLimits('operator');
  let folder: string;
  let port: number;
  let program: ChildProgram;
  let tenant: RedisConnection;
  let evil: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-operator-'));
    writeFileSync(join(folder, 'master-key'), 'master');
    port = await findFreePort();
    evil = await harness.cluster.makeNamespace();
    // Not the workspace's own user, whose password the operator decides.
    const user = { namespace: evil, username: 'attacker', password: 'secret' };
    await ensureWorkspaceUser(harness.redis.redis, user);
    tenant = await connectTo(harness.server, { ...user, commandTimeoutMs: 60_000, role: 'sidecar' });
    program = startProgram('operator/main.ts', {
      ...operatorEnvironment(harness, { secretFolder: folder, port }),
      NODE_OPTIONS: nodeOptions,
    });
    await program.waitFor(/"leading"/);
  });
  after(async () => {
    await program?.stop('SIGKILL');
    await tenant?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  };

  async function createObjects(): Promise<void> {
    const { apiVersion, kind } = BERTH_RESOURCES.ModelDeployment;
    const annotations = { note: 'x'.repeat(64 * KIB) };
    for (let at = 0; at < OBJECTS; at += 8)
      await Promise.all(
        Array.from({ length: 8 }, (_, i) => {
          const engine = { preset: 'simulator', ...SPECS[i % 2] };
          return harness.cluster.client.create(BERTH_RESOURCES.ModelDeployment, {
            apiVersion,
            kind,
            metadata: { name: `large-${at + i}`, namespace: evil, annotations },
            spec: { kind: 'LLM', model: { id: 'tiny' }, engine },
          } as never);
        }),
      );
  }

  async function fillKeys(): Promise<void> {
    const keys = workKeys(evil);
    const long = 'x'.repeat(1024 * KIB - 1);
    for (let i = 0; i < 20; i++) await tenant.redis.set(`${keys.credit}:${i}`, long);
    for (let at = 0; at < 200_000; at += 10_000)
      await tenant.redis.zadd(
        keys.deployments,
        ...Array.from({ length: 10_000 }, (_, i) => [0, `${at + i}`.padEnd(100, 'x')]).flat(),
      );
  }

  it('serves all others in time, within the memory that the chart gives it', async () => {
    const load = watchLoad(program, () => ask('/healthz'));
    const attack = Promise.all([createObjects(), fillKeys()]);
    const good = await harness.cluster.makeNamespace();
    for (const name of ['during', 'after']) {
      if (name === 'after') await attack;
      await harness.cluster.createModel(good, name);
      const find = () => harness.cluster.find(RESOURCES.Deployment, good, name);
      await pollUntil(
        async () => (await find()) !== undefined,
        `what was created ${name} the attack`,
        400_000,
      );
    }
    await load.stop();
    await ask('/readyz');
    expect(program.ended).to.equal(null);
    expect(load.peakMiB(), 'MiB at most').to.be.below(memoryMiB);
    expect(load.slowestMs, 'milliseconds of the slowest answer').to.be.below(5_000);
  });
});
