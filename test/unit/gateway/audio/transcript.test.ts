import { expect } from 'chai';
import { readTranscript, writeTranscript } from '../../../../gateway/audio/transcript.ts';
import { convertTranscript } from '../../../../gateway/audio/transcript-events.ts';

const VERBOSE = {
  text: 'A ship. At dawn.',
  duration: '3661.5',
  segments: [
    { start: 0, end: 1.25, text: ' A\n\nship --> out.' },
    { start: 3600, end: 3661.5, text: 'At dawn.' },
  ],
};

describe('a transcript', () => {
  it('tells its duration by its usage, else by its own word, as a number', () => {
    expect(readTranscript({ text: 'a', usage: { type: 'duration', seconds: 7 } })!.seconds).to.equal(7);
    const { seconds, answer } = readTranscript(VERBOSE)!;
    expect([seconds, answer.duration]).to.deep.equal([3661.5, 3661.5]);
    expect(readTranscript({ text: 'a' })!.seconds).to.equal(null);
    for (const seconds of [-1, 1e7, 1e300, Number.NaN, 'x', {}])
      expect(readTranscript({ text: 'a', usage: { seconds } })!.seconds, `${seconds}`).to.equal(null);
  });

  it('is none without a text', () => {
    for (const said of [null, [], {}, { text: 5 }]) expect(readTranscript(said)).to.equal(null);
  });

  it('is written as subtitles, in which no text can be mistaken for more', () => {
    const srt = writeTranscript(VERBOSE, 'srt')!;
    expect(srt.text).to.equal(
      '1\n00:00:00,000 --> 00:00:01,250\nA ship → out.\n\n2\n01:00:00,000 --> 01:01:01,500\nAt dawn.\n\n',
    );
    expect(writeTranscript(VERBOSE, 'vtt')!.text).to.match(
      /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.250\nA ship/,
    );
    expect(writeTranscript({ text: 'a', duration: 2 }, 'srt')!.text).to.include('00:00:02,000\na\n');
    expect(writeTranscript(VERBOSE, 'text')!.text).to.equal('A ship. At dawn.\n');
    expect(writeTranscript(VERBOSE, 'json')).to.equal(null);
  });
});

describe('the events of a transcript', () => {
  it('are OpenAI’s, made of an engine’s chunks', () => {
    const { convert, finish, isLast } = convertTranscript(2.2);
    const chunk = (content: string) => ({ object: 'transcription.chunk', choices: [{ delta: { content } }] });
    expect(convert(chunk('A '))).to.deep.equal([{ type: 'transcript.text.delta', delta: 'A ' }]);
    expect(convert(chunk('ship'))).to.have.length(1);
    expect(convert({ choices: [], usage: {} })).to.deep.equal([]);
    expect(isLast!(chunk('.'))).to.equal(false);
    expect(finish()).to.deep.equal([
      { type: 'transcript.text.done', text: 'A ship', usage: { type: 'duration', seconds: 3 } },
    ]);
  });

  it('are taken from engines that have them already', () => {
    const { convert, isLast } = convertTranscript(1);
    const delta = { type: 'transcript.text.delta', delta: 'a' };
    expect(convert(delta)).to.deep.equal([delta]);
    expect(isLast!({ type: 'transcript.text.done', text: 'a' })).to.equal(true);
  });

  it('are bounded', () => {
    const { convert } = convertTranscript(1);
    const chunk = { choices: [{ delta: { content: 'a'.repeat(5 * 1024 ** 2) } }] };
    convert(chunk);
    expect(() => convert(chunk)).to.throw('too long');
  });
});
