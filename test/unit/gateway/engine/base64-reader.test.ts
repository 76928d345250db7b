import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Base64Reader } from '../../../../gateway/engine/base64-reader.ts';
import { seedRandom } from '../../../support/random-seeds.ts';

/** Parses the text and puts the bytes in place of each `b64_json`; a fixed text if it is not JSON. */
function resolve(text: string, find: (value: string) => Buffer | undefined): unknown {
  try {
    return JSON.parse(text, (key, value) =>
      key === 'b64_json' && typeof value === 'string'
        ? (find(value) ?? Buffer.from(value, 'base64')).toString('hex')
        : value,
    );
  } catch {
    return 'no JSON';
  }
}

const readWhole = (answer: Buffer): unknown => resolve(answer.toString('utf8'), () => undefined);

function readInParts(parts: Buffer[], total = 0): unknown {
  const reader = new Base64Reader(total);
  for (const part of parts) reader.write(part);
  return resolve(reader.end(), (value) => reader.find(value));
}

const splitAt = (answer: Buffer, positions: number[]): Buffer[] =>
  [0, ...positions].map((from, index) => answer.subarray(from, positions[index] ?? answer.length));

const cases: Record<string, string> = {
  'an image': '{"created":1,"data":[{"b64_json":"iVBORw0KGgo="}]}',
  'spaces around the colon': '{"data":[{"b64_json" \n:\t "QUJDREVG"}]}',
  'two images of other lengths': '{"data":[{"b64_json":"QUJDRA=="},{"b64_json":"QUJDREU=","seed":7}]}',
  'the same key twice': '{"b64_json":"QUJD","b64_json":"REVG"}',
  'no padding': '{"b64_json":"QUJDRA"}',
  'padding in the middle': '{"b64_json":"QQ==QUJD"}',
  'too much padding': '{"b64_json":"QUJDQ==="}',
  'padding alone': '{"b64_json":"=="}',
  'an empty string': '{"b64_json":""}',
  'a data URL': '{"b64_json":"data:image/png;base64,iVBORw0KGgo="}',
  'escaped slashes': '{"b64_json":"QUJD\\/\\/\\/\\/QUJD"}',
  'other escapes': '{"b64_json":"QUJD\\u0051UJD\\n\\"\\\\","b":"\\\\"}',
  'lines, which JSON has escaped': '{"b64_json":"QUJD\\nQUJD\\n"}',
  'lines, which are no JSON': '{"b64_json":"QUJD\nQUJD\n"}',
  'letters of URLs': '{"b64_json":"QUJD-_-_QUJDREVG"}',
  'letters beyond ASCII': '{"b64_json":"QUJDäöüQUJD","name":"Bär"}',
  'null, a number, a list and an object':
    '[{"b64_json":null},{"b64_json":1},{"b64_json":["QUJD"]},{"b64_json":{"b64_json":"QUJD"}}]',
  'the key as a value, and in one': '{"a":"b64_json","b":"\\"b64_json\\":\\"QUJD\\"","b64_json":"QUJD"}',
  'other keys that are like it':
    '{"b64_jso":"QUJD","xb64_json":"QUJD","b64_json2":"QUJD","b64_json\\\\":"QUJD"}',
  'the key in escapes': '{"b64\\u005fjson":"QUJDREVG"}',
  'an error': '{"error":{"message":"CUDA out of memory","code":500}}',
  'what is no JSON': 'Internal "Server" \\"Error\\"',
  'two colons': '{"b64_json"::"QUJD"}',
  'what was cut off in the value': '{"b64_json":"QUJDREVGQUJD',
  'what was cut off after it': '{"b64_json":"QUJDREVGQUJD"',
  'a word of its own': '{"b64_json":"#0:0"}',
};

describe('an answer with images that is decoded while it arrives', () => {
  for (const [name, text] of Object.entries(cases))
    it(`means the same as when it is read whole, wherever it is split: ${name}`, () => {
      const answer = Buffer.from(text);
      const expected = readWhole(answer);
      for (let first = 0; first <= answer.length; first++)
        for (let second = first; second <= answer.length; second++)
          expect(readInParts(splitAt(answer, [first, second])), `${first}, ${second}`).to.deep.equal(
            expected,
          );
      expect(readInParts(splitAt(answer, [...answer.keys()]))).to.deep.equal(expected);
    });

  it('means the same as when it is read whole, whatever it is', () => {
    const words = [
      '"',
      '"',
      '\\',
      ':',
      ',',
      '{',
      '}',
      '"b64_json"',
      '"b64_json":"',
      'QUJD',
      'Q',
      '=',
      '/',
      ' ',
      '-',
    ];
    const random = seedRandom(1);
    const pick = (below: number) => Math.floor(random() * below);
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: 1 + pick(14) }, () => words[pick(words.length)]).join('');
      const answer = Buffer.from(pick(2) === 0 ? text : `{"b64_json":"${text}"}`);
      const positions = Array.from({ length: pick(4) }, () => pick(answer.length)).sort((a, b) => a - b);
      expect(readInParts(splitAt(answer, positions)), answer.toString()).to.deep.equal(readWhole(answer));
    }
  });

  for (const [what, isTold] of [
    ['an answer of a known length', true],
    ['one of an unknown length', false],
  ] as const)
    it(`keeps nothing of an image's text: ${what}`, () => {
      const image = randomBytes(1_000_000);
      const answer = Buffer.from(`{"data":[{"b64_json":"${image.toString('base64')}"}]}`);
      const reader = new Base64Reader(isTold ? answer.length : 0);
      for (let at = 0; at < answer.length; at += 65_521) reader.write(answer.subarray(at, at + 65_521));
      const text = reader.end();
      expect(text.length).to.be.below(100);
      expect(reader.find(JSON.parse(text).data[0].b64_json)?.equals(image)).to.equal(true);
    });
});
