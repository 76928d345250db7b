import { expect } from 'chai';
import type { Capacity } from '../../../gateway/capacity/capacity.ts';
import { pollUntil } from '../../support/poll.ts';

import { startTextEndpoint } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { MODEL } from '../../unit/simulator/running-simulator.ts';

const CLIENTS = 20;

describe('a client that leaves', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture();
  });
  after(() => fixture?.stop());
  afterEach(() => fixture.simulator.reset());

  const leave = async (isStream: boolean, untilThen: (responses: Promise<Response>[]) => Promise<void>) => {
    const abort = new AbortController();
    const responses = Array.from({ length: CLIENTS }, () =>
      fixture.chat({ stream: isStream }, { signal: abort.signal }),
    );
    const settled = Promise.allSettled(responses);
    await untilThen(responses);
    abort.abort();
    await settled;
  };
  const expectFreed = async () => {
    await pollUntil(
      async () => (await fixture.simulator.readControl()).aborted === CLIENTS,
      'all 20 aborted at the engine',
    );
    expect((await fixture.simulator.readControl()).inflight).to.equal(0);
    expect(fixture.endpoint.slots.inflight).to.equal(0);
  };
  const engineIsBusy = () =>
    pollUntil(
      async () => (await fixture.simulator.readControl()).inflight === CLIENTS,
      'all 20 at the engine',
    );

  for (const isStream of [true, false])
    it(`frees the engine before the first byte (${isStream ? 'streamed' : 'whole'})`, async () => {
      await fixture.simulator.putControl({ ttftMs: 60_000 });
      await leave(isStream, engineIsBusy);
      await expectFreed();
    });

  it('frees the engine in the middle of a stream', async () => {
    await fixture.simulator.putControl({ itlMs: 20, tokens: 100_000 });
    await leave(true, async (responses) => {
      for (const response of responses) await (await response).body!.getReader().read();
    });
    await expectFreed();
  });

  it('frees the engine when it reads nothing and then leaves', async () => {
    await fixture.simulator.putControl({ tokens: 100_000 });
    await leave(true, async (responses) => {
      await Promise.all(responses);
    });
    await expectFreed();
  });

  it('leaves no place behind when it waited for one', async () => {
    let given = 0;
    let released = 0;
    let waiting: ((signal: AbortSignal) => void) | null = null;
    const capacity: Capacity = {
      acquire: (signal) =>
        new Promise((resolve) => {
          waiting?.(signal);
          signal.addEventListener('abort', () => {
            given++;
            const release = () => released++;
            const target = {
              origin: fixture.simulator.url,
              pathPrefix: '',
              headers: {},
              local: true,
              release,
            };
            resolve({ target });
          });
        }),
      acquireElsewhere: () => ({ refusal: 'no_pod_available' }),
    };
    const endpoint = await startTextEndpoint({
      connection: fixture.connection,
      engineURL: fixture.simulator.url,
      settings: { servedModelName: MODEL },
      capacity,
    });
    const abort = new AbortController();
    const asked = new Promise((resolve) => {
      waiting = resolve;
    });
    const call = fetch(`${endpoint.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
      signal: abort.signal,
    }).catch(() => {});
    await asked;
    abort.abort();
    await call;
    await pollUntil(() => released === 1, 'the place to be given back');
    expect(given).to.equal(1);
    expect((await fixture.simulator.readControl()).requests).to.equal(0);
    await endpoint.stop();
  });

  it('is counted', async () => {
    const metrics = await fixture.endpoint.metrics.render();
    expect(metrics).to.match(/aborted_requests_total\{phase="before_first_byte"\} [1-9]/);
    expect(metrics).to.match(/aborted_requests_total\{phase="mid_stream"\} [1-9]/);
    expect(metrics).to.match(/requests_inflight 0/);
  });
});

describe('the place of a request', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { concurrency: 1 } });
  });
  after(() => fixture?.stop());
  afterEach(() => fixture.simulator.reset());

  it('is the only one: a second request gets 429 replica_saturated', async () => {
    await fixture.simulator.putControl({ ttftMs: 60_000 });
    const abort = new AbortController();
    const first = fixture.chat({}, { signal: abort.signal }).catch(() => {});
    await pollUntil(() => fixture.endpoint.slots.inflight === 1, 'the place to be taken');
    const second = await fixture.chat();
    expect(second.status).to.equal(429);
    expect(second.headers.get('retry-after')).to.equal('5');
    expect(((await second.json()) as { error: { code: string } }).error.code).to.equal('replica_saturated');
    abort.abort();
    await first;
    await pollUntil(() => fixture.endpoint.slots.inflight === 0, 'the place to be free');
  });

  it('is free when the client has seen the end of its answer, 100 times in a row', async () => {
    await fixture.simulator.putControl({ tokens: 2 });
    for (let index = 0; index < 100; index++) {
      const response = await fixture.chat({ stream: index % 2 === 0 });
      expect(response.status).to.equal(200);
      await response.text();
    }
  });
});
