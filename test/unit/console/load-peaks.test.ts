import { expect } from 'chai';
import { describePeaks, listPeaks, locateRequests } from '../../../console/web/deployment/load-peaks.ts';

const NONE = { inflightPeak: 0, runningPeak: 0, engineWaitingPeak: 0, slotWaitingPeak: 0 };

describe('the peaks of a load', () => {
  it('are those that there were, and in any case the requests in flight', () => {
    expect(listPeaks(NONE).map(({ name }) => name)).to.deep.equal(['inflightPeak']);
    const some = { ...NONE, inflightPeak: 1_200, runningPeak: 4, slotWaitingPeak: 2 };
    expect(describePeaks(some)).to.equal('1,200 in flight, 4 running, 2 waiting in the gateway');
  });

  it('lead to the requests of their step, and of the seconds before it in which they may have been seen', () => {
    const step = { at: '2026-03-01T12:00:00.000Z', seconds: 60 };
    const now = Date.parse('2026-03-01T13:00:00Z');
    const path = locateRequests('team', 'chat', step, now)!;
    const { pathname, searchParams } = new URL(path, 'http://console');
    expect(pathname).to.equal('/team/requests');
    expect(Object.fromEntries(searchParams)).to.deep.equal({
      view: 'all',
      deployment: 'chat',
      since: '2026-03-01T11:59:45.000Z',
      until: '2026-03-01T12:01:00.000Z',
    });
    expect(locateRequests('team', 'chat', step, now + 86_400_000), 'no longer kept').to.equal(undefined);
  });
});
