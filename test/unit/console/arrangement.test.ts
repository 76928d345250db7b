import { expect } from 'chai';
import {
  type Column,
  filterRows,
  findNextOrder,
  formatOrder,
  readOrder,
  sortRows,
} from '../../../console/web/parts/arrangement.ts';

interface Row {
  name: string;
  used: number | null;
}

describe('the arrangement of a list', () => {
  const columns: Column<Row>[] = [
    { by: 'name', label: 'Name', value: ({ name }) => name },
    { by: 'used', label: 'Used', value: ({ used }) => used, isLargestFirst: true },
  ];
  const rows: Row[] = [
    { name: 'key-10', used: 3 },
    { name: 'Key-9', used: null },
    { name: 'app', used: 200 },
  ];
  const sorted = (text: string | null) => sortRows(rows, columns, readOrder(text)).map(({ name }) => name);

  it('sorts names with the numbers in them, in any case', () => {
    expect(sorted('name')).to.deep.equal(['app', 'Key-9', 'key-10']);
    expect(sorted('-name')).to.deep.equal(['key-10', 'Key-9', 'app']);
  });

  it('has what is not known last in either direction', () => {
    expect(sorted('used')).to.deep.equal(['key-10', 'app', 'Key-9']);
    expect(sorted('-used')).to.deep.equal(['app', 'key-10', 'Key-9']);
  });

  it('leaves the rows as they came without an order, or with one that no column has', () => {
    for (const text of [null, '', 'age', '-']) expect(sorted(text)).to.deep.equal(['key-10', 'Key-9', 'app']);
  });

  it('goes with each click from the first direction to the other, and back to none', () => {
    const click = (text: string | null, by: number) =>
      formatOrder(findNextOrder(readOrder(text), columns[by]!));
    expect([click(null, 0), click('name', 0), click('-name', 0)]).to.deep.equal(['name', '-name', null]);
    expect([click('name', 1), click('-used', 1), click('used', 1)]).to.deep.equal(['-used', 'used', null]);
  });

  it('shows the rows that have each word of the filter, in any case', () => {
    const filtered = (filter: string) =>
      filterRows(rows, filter, ({ name, used }) => [name, used === null ? null : 'used']).map(
        ({ name }) => name,
      );
    expect(filtered('KEY')).to.deep.equal(['key-10', 'Key-9']);
    expect(filtered(' used  key ')).to.deep.equal(['key-10']);
    expect(filtered('  ')).to.have.length(3);
    expect(filtered('null')).to.deep.equal([]);
  });
});
