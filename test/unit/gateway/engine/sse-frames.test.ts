import { expect } from 'chai';
import { SseFrames } from '../../../../gateway/engine/sse-frames.ts';

const MIB = 1024 * 1024;

describe('the frames of an event stream', () => {
  for (const blank of ['\n\n', '\r\n\r\n'])
    it(`end by ${JSON.stringify(blank)}, wherever chunks are cut`, () => {
      const text = ['data: 1', 'data: {"a":2}', ': x', 'data: 3'].map((frame) => frame + blank).join('');
      for (let size = 1; size <= text.length; size++) {
        const frames = new SseFrames();
        const found: string[] = [];
        for (let start = 0; start < text.length; start += size) {
          const end = frames.push(Buffer.from(text.slice(start, start + size)));
          for (let place = 0; place < end; ) {
            const stop = frames.findStop(place, end);
            found.push(frames.text.slice(place, stop));
            place = stop;
          }
        }
        expect(found.join('')).to.equal(text);
        expect(found).to.have.length(4);
        expect(frames.rest).to.equal(null);
      }
    });

  it('tell what is left of the last', () => {
    const frames = new SseFrames();
    frames.push(Buffer.from('data: 1\n\ndata: \xf6'));
    frames.push(Buffer.from('2\n'));
    expect(frames.rest).to.equal('data: \xf62\n');
  });

  it('are joined as they come, in memory in proportion to their length', () => {
    const frames = new SseFrames();
    const allocate = Buffer.allocUnsafeSlow;
    let allocated = 0;
    Buffer.allocUnsafeSlow = (size) => {
      allocated += size;
      return allocate(size);
    };
    try {
      frames.push(Buffer.from('data: '));
      for (let count = 0; count < 255; count++) {
        expect(frames.push(Buffer.alloc(MIB / 16, 'a'))).to.equal(0);
        expect(frames.text.length + frames.data.length).to.be.lessThan(10);
      }
      expect(frames.isTooLong).to.equal(false);
      expect(frames.push(Buffer.from('\n\n'))).to.equal(frames.data.length);
    } finally {
      Buffer.allocUnsafeSlow = allocate;
    }
    expect(allocated).to.be.below(4 * frames.data.length);
  });
});
