import { readFileSync } from 'node:fs';
import { expect } from 'chai';

describe('the records of docs/decisions.md', () => {
  const headings = [...readFileSync('docs/decisions.md', 'utf8').matchAll(/^## (.+)$/gm)].map(
    ([, title]) => title!,
  );
  const numbers = headings.map((title) => Number(/^(\d{4}) \S/.exec(title)?.[1]));

  it('have a number of four digits and a title each', () => {
    expect(headings).to.have.length.above(200);
    expect(headings.filter((_, index) => Number.isNaN(numbers[index]))).to.deep.equal([]);
  });

  it('stand in the order of their numbers, each of which is used once', () => {
    const misplaced = headings.filter((_, index) => index > 0 && numbers[index]! <= numbers[index - 1]!);
    expect(misplaced).to.deep.equal([]);
  });
});
