import { expect } from 'chai';
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
