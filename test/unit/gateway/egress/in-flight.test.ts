import { expect } from 'chai';
import { InFlight } from '../../../../gateway/egress/in-flight.ts';

describe('the bound on what is in flight', () => {
  const endless = new AbortController().signal;
  let entered: string[];

  beforeEach(() => {
    entered = [];
  });

  async function enter(inFlight: InFlight, destination: string, signal = endless): Promise<() => void> {
    const leave = await inFlight.enter(destination, signal);
    entered.push(destination);
    return leave;
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('lets others pass one destination that is full', async () => {
    const inFlight = new InFlight({ inAll: 3, perDestination: 1 });
    const leave = await enter(inFlight, 'a');
    void enter(inFlight, 'a');
    await enter(inFlight, 'b');
    expect(entered).to.deep.equal(['a', 'b']);
    leave();
    await settle();
    expect(entered).to.deep.equal(['a', 'b', 'a']);
  });

  it('starts the first that can when the whole is full', async () => {
    const inFlight = new InFlight({ inAll: 2, perDestination: 1 });
    await enter(inFlight, 'a');
    const leave = await enter(inFlight, 'b');
    void enter(inFlight, 'a');
    void enter(inFlight, 'c');
    void enter(inFlight, 'd');
    await settle();
    expect(entered).to.deep.equal(['a', 'b']);
    leave();
    await settle();
    expect(entered).to.deep.equal(['a', 'b', 'c']);
  });

  it('forgets who gives up waiting, and says why', async () => {
    const inFlight = new InFlight({ inAll: 1, perDestination: 1 });
    const leave = await enter(inFlight, 'a');
    const giveUp = new AbortController();
    const refused = inFlight.enter('b', giveUp.signal).catch((error) => error);
    void enter(inFlight, 'c');
    const reason = new Error('late');
    giveUp.abort(reason);
    expect(await refused).to.equal(reason);
    leave();
    await settle();
    expect(entered).to.deep.equal(['a', 'c']);
  });

  it('lets nobody in whose time is already over', async () => {
    const inFlight = new InFlight({ inAll: 1, perDestination: 1 });
    const reason = new Error('over');
    expect(await inFlight.enter('a', AbortSignal.abort(reason)).catch((error) => error)).to.equal(reason);
    await enter(inFlight, 'a');
    expect(entered).to.deep.equal(['a']);
  });
});
