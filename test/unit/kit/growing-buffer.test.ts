import { expect } from 'chai';
import { GrowingBuffer } from '../../../kit/growing-buffer.ts';

describe('a growing buffer', () => {
  it('has all bytes in their order, however many pieces they came in', () => {
    const buffer = new GrowingBuffer();
    const expected = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
    for (const byte of expected) buffer.add(Uint8Array.of(byte));
    expect(buffer.length).to.equal(10_000);
    expect(buffer.read().equals(expected)).to.equal(true);
  });

  it('has at most twice the room that its bytes need', () => {
    const buffer = new GrowingBuffer();
    for (let piece = 0; piece < 5_000; piece++) buffer.add(Buffer.from('x'));
    expect(buffer.capacity).to.be.below(10_001);
    const roomy = new GrowingBuffer(1_000_000);
    roomy.add(Buffer.from('short'));
    expect(roomy.read().buffer.byteLength).to.be.below(1_000_000);
  });

  it('takes text in its encoding, and nothing of one that is not in it', () => {
    const buffer = new GrowingBuffer();
    expect(buffer.addText('né', 'utf8')).to.equal(true);
    expect(buffer.addText('YWJj', 'base64')).to.equal(true);
    expect(buffer.addText('YW!j', 'base64')).to.equal(false);
    expect(buffer.toString()).to.equal('néabc');
  });

  it('leaves what was read as it is when it is cleared and filled again', () => {
    const buffer = new GrowingBuffer();
    buffer.add(Buffer.from('first'));
    const first = buffer.read();
    buffer.clear();
    buffer.add(Buffer.from('second'));
    expect([first.toString(), buffer.toString()]).to.deep.equal(['first', 'second']);
  });
});
