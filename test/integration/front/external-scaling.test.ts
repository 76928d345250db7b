import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { hashApiKey } from '../../../api/identity.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { callChat, readError } from '../../support/chat.ts';
import { COLD_HOST, type ColdDeployment, startColdDeployment } from '../../support/cold-deployment.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { API_KEY } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';

const EXAMPLE = 'examples/autoscalers/keda.yaml';

describe('a deployment that others scale', () => {
  let cold: ColdDeployment;
  before(async () => {
    cold = await startColdDeployment({ scaling: undefined, replicas: 0 });
    await cold.replica.stop('SIGTERM');
    const key = { n: 'other', rpm: 100, tpd: 1_000, exp: 0, off: 0 as const };
    await publishApiKey(cold.stack.redis, 'other', hashApiKey('sk-other'), key);
  });
  after(() => cold?.stop());

  const ask = (path = '/demand/team/chat', key = API_KEY, method = 'GET') =>
    fetch(`${cold.front.origin}${path}`, { method, headers: { authorization: `Bearer ${key}` } });
  const readFigures = async () => (await (await ask()).json()) as Record<string, number>;

  it('has its demand at the front’s own address, for keys of its workspace', async () => {
    await pollUntil(async () => (await readFigures()).ready === 0, 'the last heartbeat to expire');
    const answer = await ask();
    expect(answer.status).to.equal(200);
    expect(await answer.json()).to.deep.include({ object: 'demand', deployment: 'chat', queued: 0, held: 0 });
    expect((await ask('/demand/team/chat', 'sk-wrong')).status).to.equal(401);
    expect((await ask('/demand/team/chat', 'sk-other')).status).to.equal(401);
    expect((await ask('/demand/team/nobody')).status).to.equal(404);
    expect((await ask('/demand/team/chat/more')).status).to.equal(404);
    expect((await ask('/demand/team/chat', API_KEY, 'POST')).status).to.equal(405);
  });

  it('is wanted once, from zero, by a request that is refused, which starts nothing by itself', async () => {
    await cold.sleep();
    await pollUntil(async () => (await readFigures()).demand === 0, 'no demand');
    const refused = await readError(await callChat(`${cold.front.origin}/v1`, { host: COLD_HOST }));
    expect(refused).to.include({ status: 503, code: 'no_pod_available' });
    await pollUntil(async () => (await readFigures()).demand === 1, 'demand');
    expect(cold.woken).to.deep.equal([]);
  });

  it('is what KEDA’s `metrics-api` scaler reads by the example: 200, a number, above 0 once somebody was refused', async () => {
    const [authentication, scaled] = parseAllDocuments(readFileSync(EXAMPLE, 'utf8')).map((each) =>
      each.toJS(),
    );
    const [{ type, metadata, authenticationRef }] = scaled.spec.triggers;
    expect(type).to.equal('metrics-api');
    // These it needs, and `bearer` takes the parameter `token`.
    expect(metadata)
      .to.include.keys('url', 'valueLocation', 'targetValue')
      .and.to.include({ authMode: 'bearer' });
    expect(authenticationRef.name).to.equal(authentication.metadata.name);
    expect(authentication.spec.secretTargetRef[0]).to.include({ parameter: 'token', key: 'api-key' });
    const path = new URL(metadata.url).pathname.replace('/default/', '/team/');
    const read = async () => {
      const answer = await fetch(`${cold.front.origin}${path}`, {
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      expect(answer.status).to.equal(200);
      return ((await answer.json()) as Record<string, unknown>)[metadata.valueLocation];
    };
    expect(await read()).to.be.a('number');
    const countRefused = async () => (await cold.readDemand()).fronts[0]?.refused ?? 0;
    const before = await countRefused();
    await callChat(`${cold.front.origin}/v1`, { host: COLD_HOST });
    await pollUntil(async () => (await countRefused()) > before, 'it to be counted');
    // Without `activationTargetValue` anything above 0 has it start the first replica.
    await pollUntil(async () => Number(await read()) > 0, 'demand');
  });

  it('is wanted by nobody who would not be served', async () => {
    const { redis } = cold.stack;
    const spent = { n: 'spent', rpm: 100, tpd: 0, exp: 0, off: 0 as const };
    await publishApiKey(redis, 'team', hashApiKey('sk-spent'), spent);
    const before = (await cold.readDemand()).fronts[0]!.refused;
    for (const key of ['sk-spent', 'sk-unknown'])
      await callChat(`${cold.front.origin}/v1`, { host: COLD_HOST, key });
    await callChat(`${cold.front.origin}/v1`, { host: COLD_HOST });
    await pollUntil(
      async () => (await cold.readDemand()).fronts[0]!.refused > before,
      'the last one counted',
    );
    expect((await cold.readDemand()).fronts[0]!.refused).to.equal(before + 1);
  });

  it('is wanted by each key no more often than its RPM', async () => {
    const tight = { n: 'tight', rpm: 2, tpd: 1_000, exp: 0, off: 0 as const };
    await publishApiKey(cold.stack.redis, 'team', hashApiKey('sk-tight'), tight);
    const read = async () => (await cold.readDemand()).fronts[0]?.refused ?? 0;
    const before = await read();
    for (const key of [...Array.from({ length: 6 }, () => 'sk-tight'), API_KEY])
      expect((await callChat(`${cold.front.origin}/v1`, { host: COLD_HOST, key })).status).to.equal(503);
    await pollUntil(async () => (await read()) - before >= 3, 'those counted');
    expect((await read()) - before).to.equal(3);
  });

  it('shows what its replicas do, in the gauge as well', async () => {
    const say = () =>
      heartbeat(cold.stack.redis, {
        namespace: 'team',
        name: 'chat',
        heartbeat: describeReplica({
          pod: 'a',
          boot: 'x',
          inflight: 3,
          limit: 8,
          busyMs: 3 * Date.now(),
          every: 60_000,
        }),
      });
    await pollUntil(async () => {
      await say();
      const { demand = 0, ready } = await readFigures();
      return ready === 1 && demand > 0.1;
    }, 'demand');
    await pollUntil(async () => {
      await say();
      const metrics = await cold.front.metrics();
      const [, demand] = /berth_demand\{workspace="team",deployment="chat"\} (\S+)/.exec(metrics) ?? [];
      return Number(demand) > 0.1;
    }, 'the gauge');
  });
});
