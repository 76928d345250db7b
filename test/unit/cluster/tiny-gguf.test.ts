import { expect } from 'chai';
import { formatTinyModel } from '../../../cluster/tiny-gguf.ts';

describe('the tiny model', () => {
  it('is the same every time, starts as GGUF 3 and is aligned', () => {
    const model = formatTinyModel();
    expect(model.equals(formatTinyModel())).to.equal(true);
    expect(model.subarray(0, 4).toString()).to.equal('GGUF');
    expect(model.readUInt32LE(4)).to.equal(3);
    expect(model.length % 32).to.equal(0);
  });

  it('holds every byte as a token, so that any prompt can be read', () => {
    const model = formatTinyModel();
    for (let byte = 0; byte < 256; byte++)
      expect(model.includes(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)).to.equal(true);
  });
});
