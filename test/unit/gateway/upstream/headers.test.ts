import { expect } from 'chai';
import { selectRequestHeaders, selectResponseHeaders } from '../../../../gateway/upstream/headers.ts';
import { expectLinear } from '../../../support/growth.ts';

describe('relayed headers', () => {
  const headers = {
    connection: 'keep-alive , X-One,\tx-two,, ',
    'x-one': '1',
    'x-two': '2',
    'x-three': '3',
    'x-berth-workspace': 'forged',
    expect: '100-continue',
  };

  it('are those of a request without what Connection names, what is answered and what no outsider may set', () => {
    expect(selectRequestHeaders(headers)).to.deep.equal({ 'x-three': '3' });
  });

  it('are those of a response without what Connection names', () => {
    expect(selectResponseHeaders(headers)).to.have.all.keys('x-three', 'x-berth-workspace', 'expect');
  });

  it('take time in proportion to Connection, whatever is in it', () => {
    for (const unit of [' ', ',', ' ,', 'a,', '\t'])
      expectLinear((length) => {
        selectRequestHeaders({ connection: `a${unit.repeat(length / unit.length)}b` });
      }, JSON.stringify(unit));
  });
});
