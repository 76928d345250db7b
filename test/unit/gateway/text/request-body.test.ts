import { expect } from 'chai';
import {
  getMember,
  getMemberOf,
  replaceValues,
  setMembers,
  setMembersInBytes,
} from '../../../../gateway/text/request-body.ts';
import { bodyOf } from '../../../support/body-of.ts';

const set = (text: string, ...values: [string, string][]): string => setMembers(text, new Map(values));

describe('a change within a JSON text', () => {
  const cases: [string, string, string][] = [
    ['replaces a member', '{"model":"a","seed":1}', '{"model":"b","seed":1}'],
    ['adds a missing member', '{"seed":1}', '{"model":"b","seed":1}'],
    ['adds to an empty object', '{ }', '{"model":"b" }'],
    ['adds to one with much space in it', `{${' '.repeat(99)}}`, `{"model":"b"${' '.repeat(99)}}`],
    ['leaves nested members of the same name', '{"x":{"model":"a"}}', '{"model":"b","x":{"model":"a"}}'],
    ['leaves strings that look like members', '{"x":"\\"model\\":1"}', '{"model":"b","x":"\\"model\\":1"}'],
    [
      'keeps numbers that JavaScript would round',
      '{"seed":12345678901234567890}',
      '{"model":"b","seed":12345678901234567890}',
    ],
    ['keeps space', ' {\n "model" : "a" ,\t"n":1}\n', ' {\n "model" : "b" ,\t"n":1}\n'],
    ['reads escaped names', '{"mod\\u0065l":"a"}', '{"mod\\u0065l":"b"}'],
    ['replaces a name that comes twice', '{"model":1,"model":[{"a":"]"}]}', '{"model":"b","model":"b"}'],
    ['replaces null and numbers', '{"model":null}', '{"model":"b"}'],
    ['knows escaped quotes and backslashes', '{"a":"\\\\","model":"a\\\\\\""}', '{"a":"\\\\","model":"b"}'],
    ['leaves __proto__ alone', '{"__proto__":{"model":1}}', '{"model":"b","__proto__":{"model":1}}'],
  ];
  for (const [behavior, text, expected] of cases)
    it(behavior, () => {
      const changed = set(text, ['model', '"b"']);
      expect(changed).to.equal(expected);
      expect(JSON.parse(changed).model).to.equal('b');
    });

  it('changes several members at once', () => {
    expect(set('{"a":1,"b":2}', ['b', '3'], ['c', '[4]'])).to.equal('{"c":[4],"a":1,"b":3}');
  });

  it('is the same in bytes, of characters that are several of them, too', () => {
    for (const text of ['{"model":"a","n":1}', '{"é":"€😀","model":"a"}', '{"é":1}', '{"n":1}', '{}']) {
      const bytes = setMembersInBytes(bodyOf(text), new Map([['model', '"ü"']]));
      expect(bytes.toString()).to.equal(set(text, ['model', '"ü"']));
    }
  });

  it('reads a member as it is written', () => {
    expect(getMember('{"a":{"n": 1.0},"b":2}', 'a')).to.equal('{"n": 1.0}');
    expect(getMember('{"a":1}', 'b')).to.equal(null);
    expect(getMemberOf(bodyOf('{"é":0,"a" : {"n": "ü"} ,"b":2}'), 'a')).to.equal('{"n": "ü"}');
    expect(getMemberOf(bodyOf('{"a":1}'), 'b')).to.equal(null);
  });

  it('skips megabytes of text within a second', () => {
    const text = JSON.stringify({ image: 'A'.repeat(20_000_000), model: 'a' });
    const start = performance.now();
    expect(set(text, ['model', '"b"']).endsWith('"model":"b"}')).to.equal(true);
    expect(performance.now() - start).to.be.below(1000);
  });
});

describe('a change deep within a JSON text', () => {
  const changes = new Map([
    [
      'a',
      new Map<number, string | Map<string, string>>([
        [0, '"x"'],
        [2, new Map([['b', '"y"']])],
      ]),
    ],
  ]);
  const cases: [string, string, string][] = [
    ['replaces items and members', '{"a":[1,2,{"b":3}]}', '{"a":["x",2,{"b":"y"}]}'],
    [
      'keeps space and large numbers',
      ' { "a" : [ 1 ,\n12345678901234567890, {"b" :[{}] } ] } ',
      ' { "a" : [ "x" ,\n12345678901234567890, {"b" :"y" } ] } ',
    ],
    [
      'knows strings that look like structure',
      '{"a":["]",",",{"c":"}","b":"\\""}]}',
      '{"a":["x",",",{"c":"}","b":"y"}]}',
    ],
    ['leaves what is not there', '{"a":[]}', '{"a":[]}'],
    ['leaves what has another shape', '{"a":"[1]","b":[1]}', '{"a":"[1]","b":[1]}'],
    [
      'changes all values of a name that comes twice',
      '{"a":1,"a":[1,[2],{"b":3}]}',
      '{"a":1,"a":["x",[2],{"b":"y"}]}',
    ],
  ];
  for (const [behavior, text, expected] of cases)
    it(behavior, () => {
      expect(replaceValues(text, changes)).to.equal(expected);
      JSON.parse(expected);
    });
});
