import { expect } from 'chai';
import type { ColdStarts } from '../../../../gateway/front/cold-starts.ts';
import { type FrontState, wakeForMedia } from '../../../../gateway/front/waking.ts';

describe('a queued request at a front', () => {
  const send = async (isReplay: boolean) => {
    const hints: unknown[] = [];
    const coldStarts = { replicaDemand: { hint: (config: unknown) => hints.push(config) } };
    const state = {
      exchange: { isReplay: false },
      route: { method: 'POST', served: 'accepting' },
      deployment: { config: { scaling: {} }, addresses: [] },
    };
    const next = async () => {
      state.exchange.isReplay = isReplay;
    };
    const wake = wakeForMedia({} as never, coldStarts as unknown as ColdStarts);
    await wake({ state: state as unknown as FrontState } as never, next);
    return hints.length;
  };

  it('starts a replica, unless it only repeats one that was queued before', async () => {
    expect(await send(false)).to.equal(1);
    expect(await send(true)).to.equal(0);
  });
});
