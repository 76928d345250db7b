import { expect } from 'chai';
import { createMetrics } from '../../../../gateway/telemetry/metrics.ts';

describe("a gateway's counters", () => {
  const metrics = createMetrics({ pod: 'chat-0' });
  const render = async (name: string) =>
    (await metrics.render()).split('\n').filter((line) => line.startsWith(name));

  it('without labels are there from the start, and add up', async () => {
    const name = 'berth_gateway_forwarded_requests_total';
    expect(await render(name)).to.deep.equal([`${name}{pod="chat-0"} 0`]);
    metrics.forwarded.inc();
    metrics.forwarded.inc();
    metrics.cachedInputTokens.inc(5);
    expect(await render(name)).to.deep.equal([`${name}{pod="chat-0"} 2`]);
    expect(await render(name)).to.deep.equal([`${name}{pod="chat-0"} 2`]);
    expect(await render('berth_gateway_cached_input_tokens_total')).to.deep.equal([
      'berth_gateway_cached_input_tokens_total{pod="chat-0"} 5',
    ]);
  });

  it('with labels are there from their first count on', async () => {
    const name = 'berth_gateway_prefix_choices_total';
    expect(await render(name)).to.deep.equal([]);
    metrics.prefixChoices.add(1, 'own');
    metrics.prefixChoices.add(1, 'peer');
    metrics.prefixChoices.add(1, 'own');
    expect(await render(name)).to.deep.equal([
      `${name}{choice="own",pod="chat-0"} 2`,
      `${name}{choice="peer",pod="chat-0"} 1`,
    ]);
  });
});
