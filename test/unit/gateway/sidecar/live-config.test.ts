import { expect } from 'chai';
import type { GatewayConfig } from '../../../../api/gateway-config.ts';
import { type LiveConfig, watchConfig } from '../../../../gateway/sidecar/live-config.ts';
import { pollUntil } from '../../../support/poll.ts';

const config = (modelId: string) => ({ v: 1, modelId }) as GatewayConfig;

describe('the live configuration', () => {
  let live: LiveConfig;
  let errors: unknown[];
  afterEach(() => live.close());

  const watch = (read: () => Promise<GatewayConfig | null>, pollMs = 60_000) => {
    errors = [];
    live = watchConfig({ initial: config('a'), read, pollMs, onError: (error) => errors.push(error) });
    return live;
  };

  it('follows what is read and reports each change once', async () => {
    const told: string[] = [];
    watch(async () => config('b')).onChange(({ modelId }) => told.push(modelId));
    await live.refresh();
    await live.refresh();
    expect(live.current.modelId).to.equal('b');
    expect(told).to.deep.equal(['b']);
  });

  it('keeps the last known when nothing is published', async () => {
    await watch(async () => null).refresh();
    expect(live.current.modelId).to.equal('a');
    expect(errors).to.deep.equal([]);
  });

  it('keeps the last known while Redis is unavailable, or returns nonsense', async () => {
    await watch(() => Promise.reject(new Error('away'))).refresh();
    expect(live.current.modelId).to.equal('a');
    expect(errors).to.have.length(1);
  });

  it('reads once more when notified of a change during a read', async () => {
    const answers = [config('old'), config('new')];
    let reads = 0;
    watch(async () => answers[Math.min(reads++, 1)]!);
    const first = live.refresh();
    void live.refresh();
    void live.refresh();
    await first;
    expect(reads).to.equal(2);
    expect(live.current.modelId).to.equal('new');
  });

  it('polls, for a notification may be lost', async () => {
    watch(async () => config('polled'), 5);
    await pollUntil(() => live.current.modelId === 'polled', 'the poll');
  });
});
