import { expect } from 'chai';
import { parseForeignJson } from '../../../kit/json.ts';

const writeEscaped = (text: string): string =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

describe('JSON that others wrote', () => {
  for (const name of ['priority', 'image_url', 'größe', 'a😀'])
    it(`has the name ${name}, whatever came at its place before`, () => {
      for (let plain = 0; plain < name.length; plain++) {
        const written = name.slice(0, plain) + writeEscaped(name.slice(plain));
        const before = `of ${name} ${plain}`;
        JSON.parse(JSON.stringify({ [before]: 1, [written.slice(0, name.length)]: 2 }));
        for (const space of ['', ' \n'])
          expect(parseForeignJson(`{"${before}":1,"${written}"${space}:[{"x":"\\n"}]}`)).to.deep.equal({
            [before]: 1,
            [name]: [{ x: '\n' }],
          });
      }
    });

  it('is else read as ever', () => {
    for (const text of [
      '{"a\\n":"\\u0041","b\\"c":{"\\\\":1},"\\u0041":"\\"x\\":1"}',
      '["\\\\",{"\\u005f_proto__":1}]',
      '{"\\ud800":1,"\\u0061":1,"a":2}',
      '" \\"\\u0061\\" : "',
    ])
      expect(JSON.stringify(parseForeignJson(text))).to.equal(JSON.stringify(JSON.parse(text)));
    for (const text of [
      '{"\\u0061":1',
      '{"\\x":1}',
      '{"\\u00":1}',
      '\\u":',
      '"\\u0061\\":',
      '{"\\u0061":1}}',
    ])
      expect(() => parseForeignJson(text), text).to.throw(SyntaxError);
  });
});
