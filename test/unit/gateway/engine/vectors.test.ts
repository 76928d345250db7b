import { expect } from 'chai';
import {
  checkVectors,
  completeVectors,
  FLOATS,
  readFormat,
  type VectorsRequest,
} from '../../../../gateway/engine/vectors.ts';

const NUMBERS = [0, 1, -0.5, 3.25];
const toBase64 = (numbers: readonly number[]) =>
  Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
const BASE64 = toBase64(NUMBERS);

const request = (more: Partial<VectorsRequest> = {}): VectorsRequest => ({
  encoding: 'float',
  member: 'input',
  count: 1,
  format: FLOATS,
  ...more,
});
const answerOf = (...embeddings: unknown[]) => ({
  data: embeddings.map((embedding, index) => ({ index, embedding })) as {
    index?: unknown;
    embedding: unknown;
  }[],
});

describe('the vectors of an engine', () => {
  const conversions: [string, unknown, 'float' | 'base64', unknown][] = [
    ['are decoded for who wants floats', BASE64, 'float', NUMBERS],
    ['are encoded for who wants base64', NUMBERS, 'base64', BASE64],
  ];
  for (const [behavior, embedding, encoding, expected] of conversions)
    it(behavior, () => {
      const answer = answerOf(embedding);
      expect(completeVectors(answer, request({ encoding }))).to.equal(true);
      expect(answer.data[0]!.embedding).to.deep.equal(expected);
    });

  it('stay as they are where they are complete', () => {
    expect(completeVectors(answerOf(NUMBERS), request())).to.equal(false);
    expect(completeVectors(answerOf(BASE64), request({ encoding: 'base64' }))).to.equal(false);
  });

  it('are put in the order of their inputs, and numbered where the engine does not', () => {
    const mixed = { data: [1, 0].map((index) => ({ index, embedding: [index] })) };
    expect(completeVectors(mixed, request({ count: 2 }))).to.equal(true);
    expect(mixed.data.map(({ embedding }) => embedding)).to.deep.equal([[0], [1]]);
    const bare = { data: [{ embedding: [5] }] };
    expect(completeVectors(bare, request())).to.equal(true);
    expect(bare.data).to.deep.equal([{ index: 0, embedding: [5] }]);
  });

  const none = 'an embedding for `input[1]` that is not a list of finite numbers';
  const wrong: [string, unknown[], string][] = [
    [
      'null for a number',
      [
        [1, 2],
        [1, null],
      ],
      none,
    ],
    [
      'a number beyond 32 bits',
      [
        [1, 2],
        [1, 1e300],
      ],
      none,
    ],
    [
      'a text for a number',
      [
        [1, 2],
        [1, '2'],
      ],
      none,
    ],
    [
      'a list for a number',
      [
        [1, 2],
        [[1], [2]],
      ],
      none,
    ],
    ['no numbers', [[1, 2], []], none],
    ['null for a vector', [[1, 2], null], none],
    ['an object for a vector', [[1, 2], { 0: 1 }], none],
    ['a base64 NaN', [BASE64, toBase64([0, 1, Number.NaN, 2])], none],
    ['a base64 infinity', [BASE64, toBase64([0, 1, 2, Number.NEGATIVE_INFINITY])], none],
    ['half a base64 number', [BASE64, Buffer.alloc(15).toString('base64')], none],
    ['vectors of two lengths', [[1, 2], [1]], '1 numbers for `input[1]`, and 2 for `input[0]`'],
    ['vectors of two lengths in base64', [[1, 2], BASE64], '4 numbers for `input[1]`, and 2 for `input[0]`'],
    ['too few', [[1, 2]], 'no embedding for `input[1]`'],
    ['none', [], 'no embedding for `input[0]`'],
    ['too many', [[1], [2], [3]], 'an index that none of the 2 inputs has: 2'],
  ];
  for (const encoding of ['float', 'base64'] as const)
    for (const [what, embeddings, expected] of wrong)
      it(`are refused for ${what}, wanted as ${encoding}`, () => {
        const complete = () => completeVectors(answerOf(...embeddings), request({ encoding, count: 2 }));
        expect(complete).to.throw(`The engine returned ${expected}.`).with.property('code', 'upstream_error');
      });

  it('are refused where two are for one input, or one is for none', () => {
    const complete = (...indexes: unknown[]) =>
      completeVectors({ data: indexes.map((index) => ({ index, embedding: [1] })) }, request({ count: 2 }));
    expect(() => complete(1, 1)).to.throw('more than one embedding for `input[1]`');
    for (const index of [2, -1, 0.5, '1', {}])
      expect(() => complete(0, index)).to.throw(
        `an index that none of the 2 inputs has: ${JSON.stringify(index)}`,
      );
    for (const data of [undefined, null, {}, 'text'])
      expect(() => completeVectors({ data }, request())).to.throw('no embedding for `input[0]`');
  });

  const halves: [string, number, number][] = [
    ['float16', 0x7bff, 0x7c01],
    ['bfloat16', 0x7f7f, 0xff80],
  ];
  for (const [type, finite, other] of halves)
    for (const endianness of ['native', 'little', 'big'])
      it(`are read as ${type}, ${endianness}`, () => {
        const write = (value: number) => {
          const bytes = Buffer.alloc(2);
          if (endianness === 'big') bytes.writeUInt16BE(value);
          else bytes.writeUInt16LE(value);
          return bytes;
        };
        const complete = (value: number) =>
          completeVectors(answerOf(write(value).toString('base64')), {
            ...request({ encoding: 'base64' }),
            format: readFormat(type, endianness),
          });
        expect(complete(finite)).to.equal(false);
        expect(() => complete(other)).to.throw('`input[0]`');
      });

  it('are read as 8-bit numbers', () => {
    for (const [type, finite, other] of [
      ['fp8_e4m3', 0x7e, 0xff],
      ['fp8_e5m2', 0x7b, 0x7c],
    ] as const) {
      const check = (byte: number) =>
        checkVectors(Buffer.from([byte]), [{ index: 0, start: 0, end: 1, embed_dtype: type }], request());
      check(finite);
      expect(() => check(other)).to.throw('`input[0]`');
    }
  });

  it('are checked as bytes by where the engine says they are', () => {
    const bytes = Buffer.from(new Float32Array([1, 2, 3, Number.NaN]).buffer);
    const check = (...parts: [start: number, end: number][]) =>
      checkVectors(
        bytes,
        parts.map(([start, end], index) => ({ index, start, end })),
        request({ count: 2 }),
      );
    check([0, 4], [8, 12]);
    expect(() => check([0, 8], [8, 16])).to.throw(none);
    expect(() => check([0, 8], [8, 20])).to.throw(none);
    expect(() => check([0, 8], [8, 8])).to.throw(none);
    expect(() => check([0, 8], [8, 12])).to.throw('1 numbers for `input[1]`, and 2 for `input[0]`');
    expect(() => check([0, 8])).to.throw('no embedding for `input[1]`');
  });
});
