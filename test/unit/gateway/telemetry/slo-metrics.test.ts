import { expect } from 'chai';
import { Registry } from 'prom-client';
import { createSLOMetrics } from '../../../../gateway/telemetry/slo-metrics.ts';

const HOUR_MS = 3_600_000;

describe('the counters of objectives', () => {
  let now = 1;
  let register: Registry;
  let observe: (deployment: string, hasFailed?: boolean) => void;
  beforeEach(() => {
    register = new Registry();
    const metrics = createSLOMetrics(register, () => now);
    observe = (deployment, hasFailed = false) =>
      metrics.observe(
        { slo: { availability: '99' } as never, labels: { namespace: 'team', deployment } },
        { hasFailed, firstTokenMs: null },
      );
  });
  const read = async () =>
    (await register.metrics())
      .split('\n')
      .flatMap((line) => /deployment="(.+)",objective="availability",outcome="(.+)"\} (\d+)/.exec(line) ?? [])
      .filter((_, index) => index % 4 !== 0)
      .join(' ');

  it('have both outcomes from the first request on', async () => {
    observe('chat');
    expect(await read()).to.equal('chat good 1 chat bad 0');
    observe('chat', true);
    expect(await read()).to.equal('chat good 1 chat bad 1');
    expect(await read()).to.equal('chat good 1 chat bad 1');
  });

  it('are forgotten of deployments that nobody asks any more', async () => {
    observe('gone');
    now += 20 * HOUR_MS;
    observe('chat');
    now += 5 * HOUR_MS;
    expect(await read()).to.equal('chat good 1 chat bad 0');
  });

  it('are bounded, however many deployments come and go', async () => {
    for (let index = 0; index < 10_100; index++) observe(`d${index}`);
    expect((await read()).split(' ')).to.have.length(10_000 * 2 * 3);
  });
});
