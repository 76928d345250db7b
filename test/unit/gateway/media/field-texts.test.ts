import { expect } from 'chai';
import { parseBody } from '../../../../gateway/http/body-parsing.ts';
import { FieldReader } from '../../../../gateway/media/field-reader.ts';

const NAMES = ['prompt', 'negative_prompt', 'seconds', 'extra_params'];
const ofJSON = (body: Record<string, unknown>) => FieldReader.ofJSON(body).list(NAMES);
const ofForm = (texts: Record<string, string>) =>
  FieldReader.ofForm(new Map(Object.entries(texts))).list(NAMES);

describe('the texts of fields, by which repeats are compared', () => {
  it('are the same for a number in any notation', () => {
    expect(ofForm({ seconds: '5.0' })).to.deep.equal(ofJSON({ seconds: 5 }));
    expect(ofJSON({ seconds: ' 5 ' })).to.deep.equal(ofJSON({ seconds: 5 }));
  });

  it('are the same for an object in either encoding', () => {
    const written = { extra_params: '{ "cfg": 1.0 }' };
    expect(ofForm(written)).to.deep.equal(ofJSON({ extra_params: { cfg: 1 } }));
    expect(ofJSON(written)).to.deep.equal(ofForm(written));
  });

  it('are those that were sent for what is no object', () => {
    expect(ofForm({ extra_params: '{ "cfg": ' })).to.deep.equal([['extra_params', '{ "cfg": ']]);
  });

  for (const [one, other] of [
    ['007', '7'],
    ['1.0', '1'],
    [' 5', '5'],
  ] as const)
    it(`differ for the prompts ${JSON.stringify(one)} and ${JSON.stringify(other)}`, () => {
      for (const read of [ofForm, ofJSON])
        for (const name of ['prompt', 'negative_prompt'])
          expect(read({ [name]: one })).not.to.deep.equal(read({ [name]: other }));
    });
});

describe('the message about a number', () => {
  const BODIES = [
    ['9007199254740993', 'an integer from -9007199254740991 to 9007199254740991'],
    ['-9007199254740993', 'an integer from -9007199254740991 to 9007199254740991'],
    ['18446744073709551615', 'an integer from -9007199254740991 to 9007199254740991'],
    ['1e999', 'an integer'],
    ['0.5', 'an integer'],
  ] as const;
  const readers = (number: string): Record<string, FieldReader> => {
    const body = parseBody(Buffer.from(`{"seed": 1, "prompt": "seed", "seed" : ${number} }`));
    return {
      JSON: FieldReader.ofJSON(body.value, ['seed'], { text: body }),
      'JSON with texts': FieldReader.ofJSON(body.value, ['seed'], { text: body, areTexts: true }),
      form: FieldReader.ofForm(new Map([['seed', number]])),
    };
  };
  for (const [number, allowed] of BODIES)
    it(`shows ${number} as it was sent, and what is allowed`, () => {
      for (const [what, fields] of Object.entries(readers(number))) {
        const shown = what === 'form' ? `"${number}"` : number;
        expect(() => fields.integer('seed'), what).to.throw(`\`seed\` must be ${allowed}, not ${shown}.`);
      }
    });

  it('shows the start of a long one', () => {
    const { JSON: fields } = readers('9'.repeat(100));
    expect(() => fields!.integer('seed', { min: 0, max: 10 })).to.throw(
      `\`seed\` must be an integer from 0 to 10, not ${'9'.repeat(40)}….`,
    );
  });

  it('names the bound of integers in an object', () => {
    const read = (params: object) => FieldReader.ofJSON({ extra_params: params }).object('extra_params');
    expect(() => read({ seeds: [2 ** 53] })).to.throw('with integers up to 9007199254740991');
    expect(read({ seeds: [2 ** 53 - 1], scale: 1e300 })).to.deep.equal({
      seeds: [2 ** 53 - 1],
      scale: 1e300,
    });
  });

  it('is none where it is clamped', () => {
    const range = { min: 1, max: 50 };
    for (const fields of Object.values(readers('18446744073709551615')))
      expect(fields.clamped('seed', range)).to.equal(50);
    for (const fields of Object.values(readers('0.5')))
      expect(() => fields.clamped('seed', range)).to.throw('must be an integer, not');
  });
});
