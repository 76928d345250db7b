import { expect } from 'chai';
import { findJsonFault, MAX_JSON_DEPTH } from '../../../kit/json-cost.ts';

const MIB = 1024 * 1024;
const evaluate = (text: string, maxCost = MIB) => findJsonFault(Buffer.from(text), maxCost);

describe('the cost of a JSON text', () => {
  it('counts what makes objects, arrays, members and strings', () => {
    expect(evaluate(`[${'{},'.repeat(4_000)}{}]`)).to.equal('cost');
    expect(evaluate(`[${'[],'.repeat(4_000)}[]]`)).to.equal('cost');
    expect(evaluate(`{${'"a":1,'.repeat(4_500)}"b":1}`)).to.equal('cost');
    expect(evaluate(`[${'"a",'.repeat(18_000)}1]`)).to.equal('cost');
    expect(evaluate(`[${'1,'.repeat(90_000)}1]`)).to.equal('cost');
    expect(evaluate(`[${'1,'.repeat(80_000)}1]`)).to.equal(null);
  });

  it('counts nothing within strings, however they are escaped', () => {
    const inner = '{}[],:\\"\\\\';
    expect(evaluate(`{"a":"${inner.repeat(20_000)}"}`)).to.equal(null);
    expect(evaluate(`{"a":"${'x'.repeat(100)}\\\\","b":[${'{},'.repeat(4_000)}1]}`)).to.equal('cost');
    expect(evaluate(`{"a":"${'x'.repeat(100)}\\"","b":"${inner.repeat(20_000)}"}`)).to.equal(null);
    expect(evaluate(`{"a":"\\\\","b":[${'{},'.repeat(4_000)}1]}`)).to.equal('cost');
  });

  it('finds the end of strings of every length as the parser does', () => {
    const dear = `[${'{},'.repeat(5_000)}1]`;
    for (let length = 0; length < 200; length++)
      for (const tail of ['', '\\"', '\\\\', '\\\\\\"', '\\u00e9']) {
        const text = `{"a":${JSON.stringify(`${'é'.repeat(length)}`).slice(0, -1)}${tail}","b":`;
        expect(evaluate(`${text}1}`), text).to.equal(null);
        expect(evaluate(`${text}${dear}}`), text).to.equal('cost');
      }
  });

  it('counts the levels', () => {
    const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(evaluate(nest(MAX_JSON_DEPTH))).to.equal(null);
    expect(evaluate(nest(MAX_JSON_DEPTH + 1))).to.equal('depth');
    expect(evaluate(`[${'[],'.repeat(500)}1]`)).to.equal(null);
  });

  it('leaves what is no JSON to the parser', () => {
    for (const text of ['', '"', '"\\', ']]]', `"${'a'.repeat(100)}`, `"${'a'.repeat(100)}\\`, 'nonsense'])
      expect(evaluate(text)).to.equal(null);
  });
});
