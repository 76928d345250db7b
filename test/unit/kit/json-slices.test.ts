import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { parseForeignJson } from '../../../kit/json.ts';
import { findJsonEdges } from '../../../kit/json-cost.ts';
import { listMembers, readEdges } from '../../../kit/json-members.ts';
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
  '\\ud83d',
  '\\/\\b',
  '{[,:]}',
  '\u2028',
];
/** Without the escapes with which V8 itself may take one name for another (`parseForeignJson`). */
const NAMES = [
  '""',
  '"a"',
  '"b"',
  '"\\u0061"',
  '"1"',
  '"-0"',
  '"é😀"',
  '"\\u00e9"',
  `"${'x'.repeat(40)}"`,
  '"{[,:]}"',
  '"__proto__"',
];
const LITERALS = [
  '1',
  '-0',
  '0.50',
  '-0.5e3',
  '1E+5',
  '1e-400',
  'true',
  'false',
  'null',
  '12345678901234567890',
];
const SPACES = ['', '', '', ' ', '\n\t', ' \r\n '];

/** A JSON text. */
function write(random: Random, depth = 0): string {
  const space = () => pick(random, SPACES);
  const text = () =>
    `"${Array.from({ length: Math.floor(random() * 6) }, () => pick(random, STRINGS)).join('')}"`;
  const list = (item: () => string) =>
    Array.from({ length: Math.floor(random() * 6) }, () => space() + item() + space()).join(',') || space();
  if (random() < 0.01) return `${'['.repeat(50)}${text()}${']'.repeat(50)}`;
  const kind = depth > 5 ? 2 + random() * 2 : random() * 4;
  if (kind < 1) return `[${list(() => write(random, depth + 1))}]`;
  const name = () => pick(random, NAMES);
  if (kind < 2) return `{${list(() => `${name()}${space()}:${space()}${write(random, depth + 1)}`)}}`;
  if (kind < 3) return text();
  return pick(random, LITERALS);
}

const SPOILERS = [
  ',',
  '[',
  ']',
  '{',
  '}',
  ':',
  '"',
  '\\',
  '1',
  '-',
  'e',
  '.',
  '\ufeff',
  ' ',
  '"a":',
  '\u0001',
];

/** A text that is likely no JSON. */
function spoil(random: Random, text: string): string {
  const at = Math.floor(random() * (text.length + 1));
  const other = pick(random, SPOILERS);
  const kind = random();
  if (kind < 0.4) return text.slice(0, at) + other + text.slice(at);
  if (kind < 0.8) return text.slice(0, at) + text.slice(at + 1);
  return kind < 0.9 ? text.slice(0, at) : text + text;
}

const NO_JSON = Symbol('no JSON');

const read = (how: () => unknown): unknown => {
  try {
    return how();
  } catch (error) {
    if (error instanceof SyntaxError) return NO_JSON;
    throw error;
  }
};

/** Also in the order of members. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) && JSON.stringify(one) === JSON.stringify(other);

describe('JSON that is parsed in slices', () => {
  for (const seed of listSeeds())
    it(`is what it is as a whole, valid or not (seed ${seed})`, () => {
      const random = seedRandom(seed);
      for (let round = 0; round < 300; round++) {
        const text = `${pick(random, SPACES)}${write(random)}${pick(random, SPACES)}`;
        const sizes = { characters: 1 + Math.floor(random() * 12), bytes: 9 + Math.floor(random() * 30) };
        // Half of a surrogate pair has no UTF-8.
        for (const each of [text, spoil(random, text).toWellFormed()])
          if (
            !isSame(
              read(() => parse(each, sizes)),
              read(() => parseForeignJson(each)),
            )
          )
            expect.fail(`${JSON.stringify(each)} by ${JSON.stringify(sizes)}`);
      }
    });

  for (const seed of listSeeds())
    it(`has members with the values that are found without parsing (seed ${seed})`, () => {
      const random = seedRandom(seed);
      for (let round = 0; round < 300; round++) {
        const text = `${pick(random, SPACES)}{"a":${write(random)},"b"${pick(random, SPACES)}:${write(random)} }`;
        const bytes = Buffer.from(text.replace(/^\s*\{/, `$&${pick(random, ['', '"\\u0061" : 1, '])}`));
        const edges = [...readEdges(bytes, findJsonEdges(bytes))];
        expect([...listMembers(bytes.toString('latin1'))]).to.deep.equal(edges);
        const value: Record<string, unknown> = {};
        for (const { name, start, end } of edges)
          value[name] = parseForeignJson(bytes.toString('utf8', start, end));
        if (!isSame(value, parseForeignJson(bytes.toString()))) expect.fail(JSON.stringify(bytes.toString()));
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
      expect(pauses, shape).to.be.above(2);
    }
  });
});
