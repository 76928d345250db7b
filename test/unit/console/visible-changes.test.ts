import { expect } from 'chai';
import type { LiveUpdate } from '../../../console/api.ts';
import { hideChanges } from '../../../console/server/routes/live.ts';

describe('news of a namespace', () => {
  const follow = () => {
    const told: LiveUpdate[] = [];
    return { told, hear: hideChanges({ requests: true, deliveries: false }, (news) => told.push(news)) };
  };

  it('leaves out what the user may not read, even that it changed', () => {
    const { told, hear } = follow();
    hear({ watched: ['events'], changed: ['requests', 'deliveries'] });
    hear({ watched: ['events'], changed: ['deliveries'] });
    expect(told).to.deep.equal([{ watched: ['events'], changed: ['requests'] }]);
  });

  it('tells what is watched at first and once that differs, beside a hidden change too', () => {
    const { told, hear } = follow();
    hear({ watched: [], changed: [] });
    hear({ watched: ['deployments'], changed: ['deliveries'] });
    expect(told).to.deep.equal([
      { watched: [], changed: [] },
      { watched: ['deployments'], changed: [] },
    ]);
  });
});
