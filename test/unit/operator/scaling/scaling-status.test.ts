import { expect } from 'chai';
import { StatusReport } from '../../../../operator/scaling/scaling-status.ts';

const NOW = Date.parse('2026-03-04T12:00:00Z');
const FACTS = { demand: 0, current: 0, needed: 1, isShort: false, loadTimeMs: null };

describe('what the status says of scaling', () => {
  it('has the reason of the first change, too: from zero, before anything was decided', () => {
    const report = new StatusReport(undefined);
    report.update({ ...FACTS, wanted: 1, reason: 'a request waits' }, NOW);
    expect(report.current?.lastChange).to.deep.equal({
      at: '2026-03-04T12:00:00Z',
      from: 0,
      to: 1,
      reason: 'a request waits',
    });
  });

  it('takes what it finds running for no change', () => {
    const report = new StatusReport(undefined);
    report.update({ ...FACTS, current: 2, wanted: 2, reason: 'as many as needed' }, NOW);
    expect(report.current).to.deep.include({ wanted: 2, reason: 'as many as needed' });
    expect(report.current).not.to.have.property('lastChange');
  });

  it('tells at once of requests that timed out and keep a GPU busy, and when it is free again', () => {
    const report = new StatusReport(undefined);
    const facts = { ...FACTS, current: 1, wanted: 1, reason: 'demand 1 needs 1 replica' };
    report.update(facts, NOW);
    expect(report.update({ ...facts, abandoned: 1 }, NOW + 2_000)).to.equal(true);
    expect(report.current).to.deep.include({
      abandoned: 1,
      reason: 'demand 1 needs 1 replica; the GPU is still busy with 1 request that timed out',
    });
    expect(report.current).not.to.have.property('lastChange');
    expect(report.update({ ...facts, abandoned: 1 }, NOW + 4_000)).to.equal(false);
    // As another leader reads it.
    const next = new StatusReport(report.current);
    expect(next.update(facts, NOW + 6_000)).to.equal(true);
    expect(next.current).to.include({ reason: facts.reason }).and.not.have.property('abandoned');
  });

  it('keeps the last change while nothing changes', () => {
    const report = new StatusReport(undefined);
    report.update({ ...FACTS, wanted: 1, reason: 'a request waits' }, NOW);
    report.update({ ...FACTS, current: 1, wanted: 1, reason: 'busy' }, NOW + 5_000);
    expect(report.current?.lastChange?.at).to.equal('2026-03-04T12:00:00Z');
  });
});
