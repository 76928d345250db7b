import { expect } from 'chai';
import { pollUntil } from '../../support/poll.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';
import { readStream } from '../../unit/simulator/running-simulator.ts';

describe('an engine that is stopped as vLLM is', () => {
  let fixture: TextFixture;
  beforeEach(async () => {
    fixture = await startTextFixture();
  });
  afterEach(() => fixture?.stop());
  const stop = () => void fixture.simulator.stop(5_000);

  it('ends no stream as if it were complete', async () => {
    await fixture.simulator.putControl({ like: 'vllm', itlMs: 60_000, tokens: 100 });
    const responses: Response[] = [];
    for (let count = 0; count < 3; count++) responses.push(await fixture.chat({ stream: true }));
    stop();
    for (const { events, isDone } of await Promise.all(responses.map(readStream))) {
      expect(events.at(-1)).to.have.nested.property('error.code', 'upstream_error');
      expect(isDone).to.equal(false);
    }
  });

  it('ends no whole answer as if it were complete', async () => {
    await fixture.simulator.putControl({ like: 'vllm', ttftMs: 60_000 });
    const response = fixture.chat();
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1, 'the request');
    stop();
    expect((await response).status).to.equal(502);
  });
});

describe('an engine that schedules by priority', () => {
  let fixture: TextFixture;
  before(async () => {
    fixture = await startTextFixture({ settings: { enginePriority: 'lower-first' } });
  });
  after(() => fixture?.stop());

  it('gets the priority of the key, whatever the request says', async () => {
    const key = await fixture.endpoint.makeKey({ pri: 7 });
    for (const body of [{}, { priority: -1_000 }]) {
      await (await fixture.chat({ max_tokens: 1, ...body }, { key })).text();
      const { last } = await fixture.simulator.readControl();
      expect(last!.body).to.have.property('priority', -7);
    }
  });
});
