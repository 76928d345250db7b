import { expect } from 'chai';
import { readCollections } from '../../bench/collections.ts';

const LOG = `[12:0x1]  62 ms: Scavenge 13.8 (20.0) -> 10.0 (20.0) MB, pooled: 0.0 MB, 0.96 / 0.00 ms (average mu = 1.000) allocation failure;
{"level":"info","message":"answered"}
[12:0x1]  70 ms: Scavenge 14.1 (20.2) -> 10.5 (20.9) MB, 0.97 / 0.00 ms (average mu = 1.000) allocation failure;
[12:0x1]  81 ms: Mark-Compact 14.0 (20.6) -> 8.0 (21.3) MB, pooled: 0.0 MB, 4.76 / 0.00 ms (average mu = 1.000) finalize incremental marking;
[12:0x1]  90 ms: Scavenge 12.0 (20.6) -> 8.25 (21.3) MB, 0.76 / 0.00 ms (average mu = 1.000) task;
`;

describe('the lines of Node’s collector', () => {
  it('tell what scavenges left behind, without what full collections took', () => {
    expect(readCollections(LOG)).to.deep.equal({ promotedMB: 0.75, markCompacts: 1 });
  });

  it('tell nothing of a process that collected nothing', () => {
    expect(readCollections('{"level":"info"}\n')).to.deep.equal({ promotedMB: 0, markCompacts: 0 });
  });
});
