import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { type ReplicaOptions, startReplica } from '../../../../gateway/capacity/replica.ts';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { describeModel } from '../../../support/model-replica.ts';

describe('a slot for another deployment’s request', () => {
  const start = () => {
    const state = { isReady: true, isAwake: true, isDraining: false, cordoned: [] as string[], limit: 1 };
    const slots = new Slots(() => state.limit);
    const model = describeModel();
    const config = {
      ...model,
      trafficFrom: ['chat'],
      limits: { ...model.limits, waitForSlotMs: 60_000 },
    };
    const options = {
      config: () => ({ ...config, cordoned: state.cordoned }),
      engine: {
        url: 'http://127.0.0.1:1',
        isReady: () => state.isReady,
        suspect: () => {},
        readMetrics: null,
        sleep: {
          get isAwake() {
            return state.isAwake;
          },
          isAsleep: false,
        },
      },
      slots,
      isDraining: () => state.isDraining,
      tokens: { peer: 'token', hop: 'hop' },
      self: { pod: 'v2-1', address: '127.0.0.1', port: 1 },
      peerPools: new Pools(),
      heartbeat: {
        send: async () => ({ edition: '1', beats: null }),
        countAbandoned: () => 0,
        onError: () => {},
      },
      tracer: null,
    };
    const replica = startReplica(options as unknown as ReplicaOptions);
    const request = () => {
      let status: number | null = null;
      const req = {
        url: '/internal/reservations',
        method: 'POST',
        headers: { 'x-berth-peer-token': 'hop' },
        socket: new EventEmitter(),
      };
      const res = {
        setHeader: () => {},
        writeHead: (given: number) => {
          status = given;
          return { end: () => {} };
        },
      };
      replica.peerRoutes(req as unknown as IncomingMessage, res as unknown as ServerResponse);
      // As if its client had gone: the slot is free again.
      req.socket.emit('close');
      return status;
    };
    return { state, slots, replica, request };
  };

  it('is lent only while this replica has work for nobody else, and may start more', async () => {
    const { state, replica, request } = start();
    expect(request()).to.equal(201);
    for (const change of [
      { isReady: false },
      { isAwake: false },
      { isDraining: true },
      { cordoned: ['v2-1'] },
      { limit: 0 },
    ]) {
      const before = { ...state };
      Object.assign(state, change);
      expect(request(), JSON.stringify(change)).to.equal(503);
      Object.assign(state, before);
      expect(request()).to.equal(201);
    }
    await replica.close();
  });

  it('is not lent while requests of its own wait', async () => {
    const { state, slots, replica, request } = start();
    const release = slots.take()!;
    const leaving = new AbortController();
    const waiting = replica.capacity.acquire(leaving.signal, { id: 'key', priority: 0 });
    // Asking the peers, of which there are none.
    await new Promise((resolve) => setImmediate(resolve));
    state.limit = 2;
    expect(request()).to.equal(503);
    leaving.abort();
    await waiting;
    expect(request()).to.equal(201);
    release();
    await replica.close();
  });
});
