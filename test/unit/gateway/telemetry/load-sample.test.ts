import { expect } from 'chai';
import { type LoadReport, sampleLoad } from '../../../../gateway/telemetry/load-sample.ts';
import { DeploymentUsage } from '../../../../gateway/telemetry/usage.ts';

/** The sums after one sample for each of these, by the first replica. */
function sample(...moments: [LoadReport, ...LoadReport[]][]): object {
  const usage = new DeploymentUsage();
  for (const [own, ...peers] of moments) sampleLoad(usage, own, peers);
  return Object.fromEntries(usage.sums);
}

describe('samples of the load', () => {
  it('are of all replicas together, and the highest is kept', () => {
    const quiet: LoadReport = { inflight: 1, waiting: 0 };
    const busy: [LoadReport, LoadReport] = [
      { inflight: 8, waiting: 3, running: 5, queued: 2 },
      { inflight: 4, waiting: 0, running: 4, queued: 1 },
    ];
    expect(sample([quiet], busy, [quiet])).to.deep.equal({
      inflightPeak: 12,
      runningPeak: 9,
      engineWaitingPeak: 3,
      slotWaitingPeak: 3,
    });
  });

  it('say how many ran only where the engine of each replica with two requests tells', () => {
    const telling: LoadReport = { inflight: 8, waiting: 3, running: 4 };
    expect(sample([telling, { inflight: 1 }])).to.include({ runningPeak: 5, engineWaitingPeak: 3 });
    expect(sample([telling, { inflight: 2 }])).to.deep.equal({ inflightPeak: 10, engineWaitingPeak: 3 });
    expect(sample([{ inflight: 1 }])).to.deep.equal({ inflightPeak: 1 });
  });

  it('have the use of the KV cache of the own engine alone', () => {
    const full = { inflight: 2, cacheUse: 90 };
    const half = { inflight: 2, cacheUse: 50 };
    expect(sample([full, half], [half, full], [{ inflight: 1 }, full])).to.include({
      cacheUseSum: 140,
      cacheUseSamples: 2,
      cacheUsePeak: 90,
    });
  });

  it('leave out what no gateway reports', () => {
    const odd = { inflight: 2, waiting: 9, running: 9, queued: -1 };
    const odder = { inflight: 1, waiting: 'x', running: null, queued: 1.5 } as unknown as LoadReport;
    expect(sample([odd, odder])).to.deep.equal({ inflightPeak: 3, runningPeak: 2, engineWaitingPeak: 2 });
  });

  it('stay countable however much peers report', () => {
    const most = { inflight: Number.MAX_SAFE_INTEGER };
    expect(sample([most, most])).to.deep.equal({ inflightPeak: Number.MAX_SAFE_INTEGER });
  });
});
