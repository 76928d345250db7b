import { expect } from 'chai';
import { parseForeignJson } from '../../../kit/json.ts';
import { parseInSlices } from '../../../kit/json-slices.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';

const parse = (text: string | Buffer, sizes = { characters: 4, bytes: 12 }): unknown => {
  const steps = parseInSlices(Buffer.from(text), sizes);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
};

type Random = () => number;
const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

const STRINGS = [
  '',
  'a',
  'é',
  '😀',
  'x'.repeat(40),
  '\\n',
  '\\\\',
  '\\"',
  '\\u00e9',
  '\\ud83d\\ude00',
  '{[,:]}',
  '\u2028',
];
/** Without the escapes with which V8 itself may take one name for another (`parseForeignJson`). */
const NAMES = ['""', '"a"', '"1"', '"é😀"', '"\\u00e9"', `"${'x'.repeat(40)}"`, '"{[,:]}"', '"__proto__"'];
const SPACES = ['', '', '', ' ', '\n\t', ' \r\n '];

/** A JSON text. */
function write(random: Random, depth = 0): string {
  const space = () => pick(random, SPACES);
  const text = () =>
    `"${Array.from({ length: Math.floor(random() * 6) }, () => pick(random, STRINGS)).join('')}"`;
  const list = (item: () => string) =>
    Array.from({ length: Math.floor(random() * 6) }, () => space() + item() + space()).join(',') || space();
  const kind = depth > 5 ? 2 + random() * 2 : random() * 4;
  if (kind < 1) return `[${list(() => write(random, depth + 1))}]`;
  const name = () => pick(random, NAMES);
  if (kind < 2) return `{${list(() => `${name()}${space()}:${space()}${write(random, depth + 1)}`)}}`;
  if (kind < 3) return text();
  return pick(random, ['1', '-0.5e3', 'true', 'false', 'null', '12345678901234567890']);
}

/** A text that is likely no JSON. */
function spoil(random: Random, text: string): string {
  const at = Math.floor(random() * (text.length + 1));
  const other = pick(random, [',', '[', ']', '{', '}', ':', '"', '\\', '1', ' ', 'x', '"a":', '\u0001']);
  const kind = random();
  if (kind < 0.4) return text.slice(0, at) + other + text.slice(at);
  if (kind < 0.8) return text.slice(0, at) + text.slice(at + 1);
  return kind < 0.9 ? text.slice(0, at) : text + text;
}

const read = (how: () => unknown): string => {
  try {
    return JSON.stringify(how());
  } catch (error) {
    if (error instanceof SyntaxError) return 'no JSON';
    throw error;
  }
};

describe('JSON that is parsed in slices', () => {
  for (const seed of listSeeds())
    it(`is what it is as a whole, valid or not (seed ${seed})`, () => {
      const random = seedRandom(seed);
      for (let round = 0; round < 300; round++) {
        const text = `${pick(random, SPACES)}${write(random)}${pick(random, SPACES)}`;
        const sizes = { characters: 1 + Math.floor(random() * 12), bytes: 9 + Math.floor(random() * 30) };
        // Half of a surrogate pair has no UTF-8.
        for (const each of [text, spoil(random, text).toWellFormed()])
          expect(
            read(() => parse(each, sizes)),
            each,
          ).to.equal(read(() => parseForeignJson(each)));
      }
    });

  it('keeps a member that is called __proto__ from being anything else', () => {
    const value = parse('{"a":1,"b":2,"__proto__":{"x":[1,2,3,4,5]},"c":3}') as object;
    expect(Object.keys(value)).to.deep.equal(['a', 'b', '__proto__', 'c']);
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
  });

  it('pauses within every text that is large, whatever its shape', () => {
    const bytes = 2 * 1024 * 1024;
    const shapes = {
      objects: `[${'{},'.repeat(bytes / 3)}{}]`,
      names: `{${Array.from({ length: 100_000 }, (_, index) => `"a${index}":1`).join()}}`,
      numbers: `{"a":{"b":[${'1,'.repeat(bytes / 2)}1]}}`,
      strings: `[${'"",'.repeat(bytes / 3)}""]`,
      text: `{"a":["${'x'.repeat(bytes)}"]}`,
      escapes: `{"a":"${'\\n'.repeat(bytes / 2)}"}`,
      quotes: `{"a":"${'\\"'.repeat(bytes / 2)}"}`,
    };
    for (const [shape, text] of Object.entries(shapes)) {
      const steps = parseInSlices(Buffer.from(text));
      let pauses = 0;
      while (!steps.next().done) pauses++;
      expect(pauses, shape).to.be.above(10);
    }
  });
});
