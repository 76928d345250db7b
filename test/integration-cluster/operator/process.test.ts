import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { childNames, SIDECAR_SECRET_FILES } from '../../../api/names.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { type ChildProgram, findFreePort, startProgram } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { startRedis } from '../../support/redis-server.ts';
import { makeCertificates } from '../../support/test-certificates.ts';
import { operatorEnvironment } from './operator-environment.ts';
import { useHarness } from './operator-harness.ts';

const MAIN = join(import.meta.dirname, '../../../operator/main.ts');

describe('the operator as a process', () => {
  const harness = useHarness();
  const programs: ChildProgram[] = [];
  let folder: string;
  let port: number;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-operator-'));
    writeFileSync(join(folder, 'master-key'), 'master');
    port = await findFreePort();
  });
  afterEach(() => Promise.all(programs.splice(0).map((program) => program.stop('SIGKILL'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  function start(change: Record<string, string> = {}): ChildProgram {
    const program = startProgram(MAIN, {
      ...operatorEnvironment(harness, { secretFolder: folder, port }),
      ...change,
    });
    programs.push(program);
    return program;
  }

  const read = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
    return answer && { status: answer.status, text: await answer.text() };
  };

  it('leads, reconciles, serves its health and metrics, and shuts down cleanly on SIGTERM', async () => {
    const { cluster } = harness;
    const program = start();
    await pollUntil(async () => (await read('/readyz'))?.status === 200);
    await program.waitFor(/"leading"/);
    expect((await read('/healthz'))?.status).to.equal(200);
    const namespace = await cluster.makeNamespace();
    await cluster.createModel(namespace, 'chat');
    await pollUntil(async () => (await cluster.find(RESOURCES.Deployment, namespace, 'chat')) !== undefined);
    const runs = /berth_operator_reconciles_total\{controller="modeldeployment",outcome="\w+"\} \d/;
    await pollUntil(async () => runs.test((await read('/metrics'))?.text ?? ''));
    const metrics = (await read('/metrics'))?.text ?? '';
    expect(metrics).to.match(/berth_operator_leader 1/);
    expect(metrics).to.match(/berth_operator_watch_age_seconds\{resource="pods"\} \d/);
    await program.stop();
    expect(program.ended).to.equal(0);
    const lease = await cluster.find(RESOURCES.Lease, SYSTEM_NAMESPACE, 'berth-operator');
    expect(lease?.spec).to.include({ holderIdentity: '' });
  });

  it("reports that Redis' certificate is not trusted, and passes the right CA on to sidecars", async () => {
    const [right, wrong] = [makeCertificates('IP:127.0.0.1'), makeCertificates('IP:127.0.0.1')];
    const server = await startRedis({ tls: right });
    const authority = join(folder, SIDECAR_SECRET_FILES.redisCA);
    try {
      const { cluster } = harness;
      writeFileSync(authority, wrong.ca);
      const program = start({ OPERATOR_REDIS_URL: server.url, OPERATOR_LEASE_NAME: 'berth-operator-tls' });
      await program.waitFor(/"leading"/);
      await program.waitFor(/the certificate of Redis is not signed by an authority in .*redis-ca\.crt/);
      const namespace = await cluster.makeNamespace();
      await cluster.createModel(namespace, 'chat');
      const readAuthority = async () => {
        const secret = await cluster.find(RESOURCES.Secret, namespace, childNames('chat').sidecarSecret);
        const data = secret?.data as Record<string, string> | undefined;
        return Buffer.from(data?.[SIDECAR_SECRET_FILES.redisCA] ?? '', 'base64').toString();
      };
      await pollUntil(async () => (await readAuthority()) === wrong.ca.trim());
      writeFileSync(authority, right.ca);
      await program.waitFor(/Redis recovered/);
      await pollUntil(async () => (await readAuthority()) === right.ca.trim());
      await program.stop();
    } finally {
      rmSync(authority);
      await server.stop();
    }
  });

  it('ends with a code other than 0 when its lease is lost', async () => {
    const { cluster } = harness;
    const program = start({ OPERATOR_LEASE_NAME: 'berth-operator-lost' });
    await program.waitFor(/"leading"/);
    await cluster.client.mergePatch(RESOURCES.Lease, {
      at: { namespace: SYSTEM_NAMESPACE, name: 'berth-operator-lost' },
      patch: { spec: { holderIdentity: 'another' } },
    });
    await pollUntil(() => program.ended !== null);
    expect(program.ended).to.equal(1);
  });

  it('reports which setting is wrong, and does not start', async () => {
    const program = start({ OPERATOR_REDIS_USERS: 'some' });
    await pollUntil(() => program.ended !== null);
    expect(program.ended).to.equal(1);
    expect(program.output).to.contain('OPERATOR_REDIS_USERS must be one of managed, external, off');
  });
});
