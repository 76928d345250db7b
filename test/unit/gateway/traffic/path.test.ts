import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Capacity, EngineTarget } from '../../../../gateway/capacity/capacity.ts';
import { Exchange, type GatewayState } from '../../../../gateway/http/exchange.ts';
import { acquireTarget } from '../../../../gateway/run/engine-run.ts';

const target = (more: Partial<EngineTarget> = {}): EngineTarget => ({
  origin: 'http://127.0.0.1:8000',
  pathPrefix: '',
  headers: {},
  local: true,
  release: () => {},
  ...more,
});

function describeRequest(fields: Partial<GatewayState> = {}): GatewayState {
  const res = Object.assign(new EventEmitter(), { writableFinished: false }) as unknown as ServerResponse;
  const req = { headers: {}, url: '/v1/chat/completions' } as IncomingMessage;
  const exchange = new Exchange(req, res, 'request');
  return { exchange, keyHash: 'key', priority: 0, ...fields } as GatewayState;
}

describe('the version that a response names', () => {
  it('is the last one, whatever the values of other headers', () => {
    const { exchange } = describeRequest();
    exchange.headers.push('x-request-id', 'x-berth-version', 'x-other', '1');
    const before = [...exchange.headers];
    exchange.nameVersion('chat');
    exchange.headers.push('x-last', '2');
    exchange.nameVersion('v2');
    expect(exchange.headers).to.deep.equal([...before, 'x-berth-version', 'v2', 'x-last', '2']);
  });
});

describe('the way of a request to its engine', () => {
  const start = (
    traffic: { deployment: string; weight: number }[] | undefined,
    member: EngineTarget | null,
  ) => {
    const calls: unknown[][] = [];
    const own = target();
    const capacity: Capacity = {
      acquire: (...call) => {
        calls.push(['own', ...call]);
        return { target: own };
      },
      acquireElsewhere: () => ({ refusal: 'no_pod_available' }),
    };
    const services = {
      capacity,
      config: () => ({ name: 'chat', traffic }) as never,
      traffic: {
        choose: (conversation: string) => {
          calls.push(['choose', conversation]);
          return traffic?.[0]?.deployment ?? null;
        },
        acquire: async (...call: unknown[]) => {
          calls.push(['version', ...call.slice(0, 2)]);
          return member;
        },
      },
    };
    return { services, calls, own };
  };

  it('is the very same without traffic, whatever the request: nothing is chosen, hashed, named or awaited', () => {
    for (let index = 0; index < 200; index++) {
      const state = describeRequest({
        keyHash: `key-${index % 7}`,
        priority: index % 3,
        prefix: [undefined, null, index][index % 3] as number | null | undefined,
      });
      const { services, calls, own } = start(undefined, null);
      const headers = [...state.exchange.headers];
      const { keyHash: id, priority, prefix } = state;
      expect(acquireTarget(services, state)).to.equal(own);
      expect(calls).to.deep.equal([['own', state.exchange.signal, { id, priority, prefix }]]);
      expect(state.exchange.headers).to.deep.equal(headers);
      expect([state.conversation, state.exchange.version]).to.deep.equal([undefined, null]);
    }
  });

  it('leads to the version of its conversation, or of a random one where there is none', async () => {
    const there = target({ local: false, version: 'v2' });
    const { services, calls } = start([{ deployment: 'v2', weight: 10 }], there);
    expect(await acquireTarget(services, describeRequest({ conversation: 'talk' }))).to.equal(there);
    expect(await acquireTarget(services, describeRequest())).to.equal(there);
    // Not the client's id of the request, which it may repeat.
    const random = calls[2]![1];
    expect(random).to.be.a('string').and.not.equal('request');
    expect(calls).to.deep.equal([
      ['choose', 'talk'],
      ['version', 'v2', 'talk'],
      ['choose', random],
      ['version', 'v2', random],
    ]);
  });

  it('stays here when the version has no slot', async () => {
    const { services, own } = start([{ deployment: 'v2', weight: 10 }], null);
    expect(await acquireTarget(services, describeRequest({ conversation: 'talk' }))).to.equal(own);
  });

  it('releases the version’s target when the client left meanwhile', async () => {
    let released = 0;
    const there = target({ version: 'v2', release: () => released++ });
    const { services } = start([{ deployment: 'v2', weight: 10 }], there);
    const state = describeRequest({ conversation: 'talk' });
    const acquired = acquireTarget(services, state);
    state.exchange.cancel(new Error('gone'));
    await Promise.resolve(acquired).then(
      () => expect.fail('it has a slot'),
      (error) => expect(error.message).to.equal('gone'),
    );
    expect(released).to.equal(1);
  });
});
