import { expect } from 'chai';
import { SseFrames } from '../../../../gateway/engine/sse-frames.ts';

const MIB = 1024 * 1024;

describe('the frames of an event stream', () => {
  const cut = (bytes: Buffer, size: number) => {
    const frames = new SseFrames();
    const found: string[] = [];
    for (let start = 0; start < bytes.length; start += size) {
      const end = frames.push(bytes.subarray(start, start + size));
      for (let place = 0; place < end; ) {
        const stop = frames.findStop(place, end);
        found.push(frames.text.slice(place, stop));
        place = stop;
      }
    }
    return { frames, found };
  };

  const toBytes = (text: string) => Buffer.from(text).toString('latin1');
  const FRAMES = ['data: 1', 'data: {"ä":2}', 'event: x\ndata: 3', ': x', 'data: 4'].map(
    (frame) => `${frame}\n\n`,
  );
  const LINE_ENDS: [string, (index: number) => string][] = [
    ['LF', () => '\n'],
    ['CR', () => '\r'],
    ['CR LF', () => '\r\n'],
    ['all three in turn', (index) => ['\r\n', '\n', '\r'][index % 3]!],
    ['all three in another turn', (index) => ['\r', '\r\n', '\n', '\n'][index % 4]!],
  ];
  for (const [what, endOf] of LINE_ENDS)
    it(`end by a blank line, wherever chunks are cut: ${what}`, () => {
      let lines = 0;
      const text = FRAMES.join('').replaceAll('\n', () => endOf(lines++));
      const bytes = Buffer.from(text);
      for (let size = 1; size <= bytes.length; size++) {
        const { frames, found } = cut(bytes, size);
        expect(found, `${size} bytes`).to.deep.equal(FRAMES.map(toBytes));
        expect(frames.rest).to.equal(null);
      }
    });

  it('are given at once when their last line ends, though it may end in CR LF', () => {
    const frames = new SseFrames();
    expect(frames.push(Buffer.from('data: 1\r\r'))).to.equal('data: 1\n\n'.length);
    expect(frames.push(Buffer.from('\n'))).to.equal(0);
    expect(frames.rest).to.equal(null);
  });

  it('begin after a byte order mark', () => {
    const bytes = Buffer.from('\ufeffdata: 1\n\ndata: \ufeff\n\n');
    for (let size = 1; size <= bytes.length; size++)
      expect(cut(bytes, size).found).to.deep.equal(['data: 1\n\n', toBytes('data: \ufeff\n\n')]);
  });

  it('are valid UTF-8, whatever bytes an engine sends', () => {
    const bytes = Buffer.concat(
      ['data: 1 ', '\xff', '\n\ndata: ', '\xc3', '\n\n'].map((text) => Buffer.from(text, 'latin1')),
    );
    for (let size = 1; size <= bytes.length; size++)
      expect(cut(bytes, size).found).to.deep.equal(['data: 1 \ufffd\n\n', 'data: \ufffd\n\n'].map(toBytes));
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
