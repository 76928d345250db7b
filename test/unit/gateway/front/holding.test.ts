import { EventEmitter } from 'node:events';
import { IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { HoldQueues } from '../../../../gateway/front/demand/hold-queues.ts';
import { type HeldState, type HoldingServices, holdRequest } from '../../../../gateway/front/holding.ts';
import { StartTimes } from '../../../../gateway/front/start-times.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { describeModel } from '../../../support/model-replica.ts';

/** Between a request's arrival and the moment it is held. */
const ELAPSED_MS = 2_000;

interface Case {
  name: string;
  holdFor: string;
  requestTimeout: string;
  prefer?: string;
  /** From the request's arrival. */
  endsAtMs: number;
  /** The rest of a start of 95 s at that time. */
  retryAfter: number;
}

const CASES: Case[] = [
  { name: 'holdFor', holdFor: '60s', requestTimeout: '120s', endsAtMs: 60_000, retryAfter: 35 },
  { name: 'requestTimeout', holdFor: '5m', requestTimeout: '80s', endsAtMs: 80_000, retryAfter: 15 },
  // The rest of the server's time for a request is the upload's.
  {
    name: 'four minutes of a body that is not read',
    holdFor: '10m',
    requestTimeout: '10m',
    endsAtMs: 240_000,
    retryAfter: 5,
  },
  {
    name: 'the caller’s own wait',
    holdFor: '60s',
    requestTimeout: '120s',
    prefer: 'wait=50',
    endsAtMs: 50_000,
    retryAfter: 45,
  },
  {
    name: 'holdFor, whatever longer wait the caller has',
    holdFor: '60s',
    requestTimeout: '120s',
    prefer: 'wait=100',
    endsAtMs: 60_000,
    retryAfter: 35,
  },
];

describe('a held request that no replica comes for', () => {
  const describeHeld = ({ holdFor, requestTimeout }: Pick<Case, 'holdFor' | 'requestTimeout'>) => {
    const config = describeModel({
      limits: { requestTimeout },
      scaling: { min: 0, max: 3, coldStart: { mode: 'Hold', holdFor } },
    });
    return { ...config, scaling: { ...config.scaling!, loadTimeMs: 95_000 } };
  };

  /** Arrived `ELAPSED_MS` ago, when the start began; without a length, so that its body is not read. */
  const open = (config: ReturnType<typeof describeHeld>, prefer: string | undefined): HeldState => {
    const req = Object.assign(new IncomingMessage(new Socket()), { headers: prefer ? { prefer } : {} });
    const res = Object.assign(new EventEmitter(), { setHeader: () => {} }) as unknown as ServerResponse;
    const exchange = Object.assign(new Exchange(req, res, 'id'), { elapsed: () => ELAPSED_MS });
    const deployment = { config, addresses: [] };
    return { exchange, deployment, keyHash: 'key' } as unknown as HeldState;
  };

  for (const { name, endsAtMs, retryAfter, prefer, ...spec } of CASES)
    it(`ends by ${name}, with the rest of the measured start as its Retry-After`, async () => {
      const clock = new FakeClock();
      const config = describeHeld(spec);
      const state = open(config, prefer);
      const starts = new StartTimes(clock.now);
      const replicaDemand = { hold: () => () => {}, shareOf: () => 1, refuse: () => {} };
      const find = async () => state.deployment;
      const limits = { total: 10, perDeployment: 10, bytesPerDeployment: 1_000_000 };
      const queues = new HoldQueues({ limits, find, replicaDemand, clock });
      const metrics = { held: { inc: () => {}, dec: () => {} }, holdTime: { observe: () => {} } };
      const services = { starts, replicaDemand, queues, metrics, directory: { find } };
      starts.begin(config);
      await clock.advance(ELAPSED_MS);
      let end: unknown;
      holdRequest(services as unknown as HoldingServices, state, () => {}).catch((error) => {
        end = error;
      });
      await clock.advance(endsAtMs - ELAPSED_MS - 1);
      expect(end).to.equal(undefined);
      await clock.advance(1);
      await settle();
      expect(end).to.be.instanceOf(ApiError);
      const { code, status, details } = end as ApiError;
      expect({ code, status, retryAfter: details.retryAfter }).to.deep.equal({
        code: 'no_pod_available',
        status: 503,
        retryAfter,
      });
      expect(clock.pending).to.equal(0);
      // Releases its memory for bodies, which all tests of the process share.
      state.exchange.res.emit('close');
    });
});
