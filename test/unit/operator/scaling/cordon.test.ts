import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { Cordon } from '../../../../operator/scaling/cordon.ts';
import type { DeploymentSample } from '../../../../redis/demand/demand.ts';

const NOW = 1_800_000_000_000;
const pod = (name: string): V1Pod => ({ metadata: { name } });
const pods = ['p1', 'p2', 'p3'].map(pod);
const busy = (inflight: Record<string, number>): DeploymentSample['replicas'] =>
  Object.entries(inflight).map(([name, count]) => ({
    pod: name,
    boot: 'b',
    busyMs: 0,
    arrivals: 0,
    inflight: count,
    limit: null,
    ready: true,
    draining: false,
    activeAt: NOW,
    at: NOW,
  }));

describe('the cordon', () => {
  it('takes the least busy, and keeps to its choice', () => {
    const cordon = new Cordon();
    cordon.choose(pods, busy({ p1: 5, p2: 1, p3: 3 }), { count: 1, now: NOW });
    expect(cordon.names()).to.deep.equal(['p2']);
    cordon.choose(pods, busy({ p1: 5, p2: 1, p3: 0 }), { count: 1, now: NOW });
    expect(cordon.names()).to.deep.equal(['p2']);
    cordon.choose(pods, busy({ p1: 5, p2: 1, p3: 0 }), { count: 2, now: NOW });
    expect(cordon.names()).to.deep.equal(['p2', 'p3']);
  });

  it('is idle once its pods have nothing to do and gateways have had time to know', () => {
    const cordon = new Cordon();
    cordon.choose(pods, busy({ p1: 1, p2: 0, p3: 1 }), { count: 1, now: NOW });
    expect(cordon.isIdle(busy({ p2: 0 }), NOW + 3_999)).to.equal(false);
    expect(cordon.isIdle(busy({ p2: 1 }), NOW + 4_000)).to.equal(false);
    expect(cordon.isIdle(busy({ p1: 0 }), NOW + 4_000), 'unheard').to.equal(false);
    expect(cordon.isIdle(busy({ p2: 0 }), NOW + 4_000)).to.equal(true);
  });

  it('is lifted when demand returns, but not for pods that are leaving', () => {
    const cordon = new Cordon();
    cordon.choose(pods, busy({ p1: 1, p2: 0, p3: 1 }), { count: 1, now: NOW });
    cordon.lift();
    expect(cordon.names()).to.deep.equal([]);
    cordon.choose(pods, busy({ p1: 1, p2: 0, p3: 1 }), { count: 1, now: NOW });
    cordon.leave(NOW);
    cordon.lift();
    expect(cordon.names()).to.deep.equal(['p2']);
    cordon.prune(pods, NOW + 30_001);
    expect(cordon.names(), 'kept after all').to.deep.equal([]);
  });

  it('forgets pods that are gone', () => {
    const cordon = new Cordon();
    cordon.choose(pods, busy({ p1: 0 }), { count: 1, now: NOW });
    cordon.prune([pod('p2'), pod('p3')], NOW);
    expect(cordon.names()).to.deep.equal([]);
  });

  it('chooses only among pods that are not leaving already', () => {
    const cordon = new Cordon();
    cordon.choose(pods, busy({ p1: 5, p2: 0, p3: 5 }), { count: 1, now: NOW });
    cordon.leave(NOW);
    cordon.choose(pods, busy({ p1: 5, p2: 0, p3: 1 }), { count: 1, now: NOW });
    expect(cordon.waiting()).to.deep.equal(['p3']);
    expect(cordon.names()).to.deep.equal(['p2', 'p3']);
  });
});
