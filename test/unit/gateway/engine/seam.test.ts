import { expect } from 'chai';
import { Seam } from '../../../../gateway/engine/seam.ts';

interface Joined {
  text: string;
  isStopped: boolean;
}

function join(
  generated: string,
  pieces: string[],
  stopping: { stops?: string[]; withStop?: boolean } = {},
): Joined {
  const seam = new Seam({ generated, stops: [], withStop: false, ...stopping });
  let text = '';
  for (const piece of pieces) {
    text += seam.join(piece);
    if (seam.isStopped) break;
  }
  return { text, isStopped: seam.isStopped };
}

describe('the seam of a continued answer', () => {
  it('leaves text as it is after text', () => {
    expect(join('One', [' two', ' three']).text).to.equal(' two three');
  });

  it('drops white space that the client has read already, however it is cut', () => {
    expect(join('One\n\n', ['\n\nTwo']).text).to.equal('Two');
    expect(join('One\n\n', ['\n', '\n', 'Two']).text).to.equal('Two');
    expect(join('One ', [' two', ' three']).text).to.equal('two three');
  });

  it('keeps white space that goes on', () => {
    expect(join('One\n', ['\n\nTwo']).text).to.equal('\nTwo');
    expect(join('One ', ['two', ' three']).text).to.equal('two three');
    expect(join('One ', ['\ntwo']).text).to.equal('\ntwo');
  });

  describe('with stop strings', () => {
    it('ends where one spans it', () => {
      expect(join('One EN', ['D two'], { stops: ['END'] })).to.deep.equal({ text: '', isStopped: true });
      expect(join('One E', ['N', 'D', ' two'], { stops: ['END'] })).to.deep.equal({
        text: 'N',
        isStopped: true,
      });
    });

    it('keeps the text that stopped it where the client wants it', () => {
      expect(join('One EN', ['D two'], { stops: ['END'], withStop: true })).to.deep.equal({
        text: 'D',
        isStopped: true,
      });
    });

    it('leaves to the engines what lies on one side', () => {
      expect(join('END', [' END two'], { stops: ['END'] })).to.deep.equal({
        text: ' END two',
        isStopped: false,
      });
      expect(join('a', ['nd', ' END'], { stops: ['END'] }).isStopped).to.equal(false);
    });

    it('finds one that is longer than what was generated', () => {
      expect(join('\n', ['\nUser', ':', ' more'], { stops: ['\n\nUser:'] }).isStopped).to.equal(false);
      expect(join('x', ['yz', 'END', ' more'], { stops: ['xyzEND'] })).to.deep.equal({
        text: 'yz',
        isStopped: true,
      });
    });

    it('takes the one that begins first', () => {
      expect(join('ab', ['cd more'], { stops: ['bcd', 'abc'] })).to.deep.equal({ text: '', isStopped: true });
    });
  });
});
