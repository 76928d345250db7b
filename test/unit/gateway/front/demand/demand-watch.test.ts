import { expect } from 'chai';
import { DemandWatch } from '../../../../../gateway/front/demand/demand-watch.ts';
import type { DeploymentSample } from '../../../../../redis/demand/demand.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { describeReplica } from '../../../../support/heartbeat.ts';

const CHAT = { namespace: 'team', name: 'chat' };

describe('the demand that autoscalers of others read', () => {
  let clock: FakeClock;
  let watch: DemandWatch;
  let isAway: boolean;
  /** Workspaces of each read. */
  let readings: string[][];
  /** Slots in use, constantly. */
  let load: number;
  let parts: Partial<DeploymentSample>;
  /** Workspaces whose deployment was deleted. */
  let gone: Set<string>;
  let workspaces: string[];

  const read = async (namespaces: readonly string[]) => {
    readings.push([...namespaces]);
    if (isAway) throw new Error('away');
    const at = clock.date().getTime();
    const busyMs = load * clock.now();
    const replica = { ...describeReplica({ pod: 'a', boot: '1', busyMs, inflight: load }), at };
    const jobs = { queued: 0, running: 0, paceMs: null };
    const sample = { replicas: [replica], fronts: [], jobs, at, ...parts };
    return new Map(namespaces.flatMap((name) => (gone.has(name) ? [] : [[`${name}/chat`, sample]])));
  };
  beforeEach(() => {
    clock = new FakeClock();
    [isAway, readings, load, parts] = [false, [], 0, {}];
    [gone, workspaces] = [new Set(), ['team', 'other']];
    watch = new DemandWatch({
      listWorkspaces: async () => workspaces,
      read,
      onError: () => {},
      clock,
    });
  });
  afterEach(() => watch.close());
  const front = (share: object) => ({
    front: 'f',
    boot: '1',
    held: 0,
    heldMs: 0,
    refused: 0,
    wantedAt: 0,
    at: clock.date().getTime(),
    ...share,
  });

  it('is what runs now at the first question, and the exact average of a minute later', async () => {
    load = 4;
    expect(await watch.ask(CHAT)).to.include({ demand: 4, in_flight: 4, ready: 1 });
    await clock.advance(30_000);
    expect((await watch.ask(CHAT))!.demand).to.be.closeTo(4, 0.01);
    await clock.advance(60_000);
    expect((await watch.ask(CHAT))!.demand).to.be.closeTo(4, 0.01);
  });

  it('is null of what is no deployment', async () => {
    expect(await watch.ask({ namespace: 'team', name: 'nobody' })).to.equal(null);
  });

  it('is at least 1 while a request waits for the first replica, and 0 once nobody wants it', async () => {
    const wantedAt = clock.date().getTime();
    parts = { replicas: [], fronts: [front({ wantedAt, refused: 1 })] };
    expect((await watch.ask(CHAT))!.demand).to.equal(1);
    await clock.advance(50_000);
    expect((await watch.ask(CHAT))!.demand).to.equal(1);
    parts = { replicas: [], fronts: [] };
    await clock.advance(70_000);
    expect((await watch.ask(CHAT))!.demand).to.equal(0);
  });

  it('counts queued work by how long it takes', async () => {
    parts = { jobs: { queued: 30, running: 0, paceMs: 10_000 } };
    expect(await watch.ask(CHAT)).to.include({ demand: 5, queued: 30 });
  });

  it('is read again and again for five minutes after a question, then no more', async () => {
    await watch.ask(CHAT);
    await clock.advance(290_000);
    expect(readings.length).to.be.within(50, 60);
    await clock.advance(30_000);
    const { length } = readings;
    await clock.advance(600_000);
    expect(readings.length).to.equal(length);
    expect(clock.pending).to.equal(0);
  });

  it('is read of all workspaces once Prometheus asks', async () => {
    expect(watch.report()).to.deep.equal([]);
    await clock.advance(6_000);
    expect(watch.report().map(({ namespace }) => namespace)).to.have.members(['team', 'other']);
  });

  it('is read of many workspaces at a time', async () => {
    workspaces = Array.from({ length: 450 }, (_, i) => `team-${i}`);
    watch.report();
    await clock.advance(6_000);
    expect(readings.map(({ length }) => length)).to.deep.equal([200, 200, 50]);
    expect(watch.report()).to.have.length(450);
  });

  it('is no figure of a deployment that is gone', async () => {
    watch.report();
    await clock.advance(6_000);
    gone.add('other');
    await clock.advance(6_000);
    expect(watch.report().map(({ namespace }) => namespace)).to.deep.equal(['team']);
    workspaces = [];
    await clock.advance(6_000);
    expect(watch.report()).to.deep.equal([]);
  });

  it('is no figure while Redis is away', async () => {
    watch.report();
    await clock.advance(10_000);
    isAway = true;
    await clock.advance(40_000);
    expect(watch.report()).to.deep.equal([]);
    const failure = await watch.ask(CHAT).then(
      () => null,
      (error: Error) => error.message,
    );
    expect(failure).to.equal('away');
  });
});
