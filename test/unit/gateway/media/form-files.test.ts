import { expect } from 'chai';
import { normalizeField, readNumber, sortByNumber } from '../../../../gateway/media/form-field-names.ts';
import { expectLinear } from '../../../support/growth.ts';

describe('files of a form', () => {
  const file = (field: string, number: number | null, name: string) => ({ field, number, name });
  const namesOf = (files: ReturnType<typeof file>[]) => sortByNumber(files).map(({ name }) => name);

  it('are in the order of their numbers, in whatever order they came', () => {
    const [first, second, tenth] = [0, 1, 10].map((number) => file('image', number, `image ${number}`));
    expect(namesOf([tenth!, second!, file('mask', null, 'mask'), first!])).to.deep.equal([
      'image 0',
      'image 1',
      'image 10',
      'mask',
    ]);
  });

  it('stay in the order of the body where one of their field has no number', () => {
    expect(namesOf([file('image', 3, 'a'), file('image', null, 'b'), file('image', 1, 'c')])).to.deep.equal([
      'a',
      'b',
      'c',
    ]);
  });

  it('are of the field that their name begins with', () => {
    for (const name of ['image', 'image[]', 'image[0]', 'image[front]'])
      expect(normalizeField(name), name).to.equal('image');
    for (const name of ['', ']', 'image]', 'image[', 'image[0]x'])
      expect(normalizeField(name)).to.equal(name);
  });

  it('have names that take time in proportion to their length, whatever is in them', () => {
    for (const unit of ['[', ']', '[0', '[]', '[0]x'])
      expectLinear((length) => {
        const name = unit.repeat(length / unit.length);
        normalizeField(name);
        readNumber(name);
      }, unit);
  });
});
