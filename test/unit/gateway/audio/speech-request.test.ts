import { expect } from 'chai';
import { readSpeech } from '../../../../gateway/audio/speech-request.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { bodyOf } from '../../../support/body-of.ts';
import { describeModel } from '../../../support/model-replica.ts';

const CONFIG = { ...describeModel({ kind: 'Speech' }), modelId: 'org/tts', servedModelName: '/weights' };

function read(value: object) {
  return readSpeech(bodyOf(JSON.stringify(value)), CONFIG);
}
const sent = (value: object) => JSON.parse(read(value).payload.toString());

describe('a speech request', () => {
  it('asks for MP3 unless told otherwise, as OpenAI’s clients expect, and of a stream for what can be streamed', () => {
    expect(sent({ input: 'a' })).to.deep.equal({ input: 'a', model: '/weights', response_format: 'mp3' });
    expect(sent({ input: 'a', stream_format: 'sse' }).response_format).to.equal('wav');
    expect(sent({ input: 'a', response_format: 'flac' }).response_format).to.equal('flac');
    expect(read({ input: 'a', response_format: 'pcm' }).contentType).to.equal('audio/pcm');
  });

  it('waits for events with `stream`, or where it asks for them', () => {
    expect(read({ input: 'a', stream: true }).isEventStream).to.equal(true);
    expect(read({ input: 'a', stream_format: 'sse' }).isEventStream).to.equal(true);
    expect(read({ input: 'a', stream: true, stream_format: 'audio' }).isEventStream).to.equal(false);
  });

  it('counts characters, not their halves', () => {
    expect(read({ input: 'añ🚢' }).characters).to.equal(3);
  });

  it('counts all that the model reads: instructions and transcripts of voices, too', () => {
    const references = [
      { audio_path: 'data:audio/wav;base64,AAAA', text: '4444' },
      'data:audio/wav;base64,AA',
    ];
    const read4 = read({ input: '1', instructions: '22', ref_text: '333', references, language: 'German' });
    expect(read4.characters).to.equal(10);
  });

  it('names a voice by its id, and passes on what it does not know', () => {
    expect(sent({ input: 'a', voice: { id: 'v1' }, language: 'de' })).to.include({
      voice: 'v1',
      language: 'de',
    });
  });

  for (const [value, param] of [
    [{}, 'input'],
    [{ input: '  ' }, 'input'],
    [{ input: 'a'.repeat(32_001) }, 'input'],
    [{ input: 'a', instructions: 'a'.repeat(32_001) }, 'instructions'],
    [{ input: 'a', ref_text: 'a'.repeat(32_001) }, 'ref_text'],
    [{ input: 'a', ref_text: Array.from({ length: 33 }, () => 'a'.repeat(1_000)) }, 'ref_text'],
    [{ input: 'a', references: [{ text: 'a'.repeat(32_001) }] }, 'references'],
    [{ input: 'a', model: 'other' }, 'model'],
    [{ input: 'a', response_format: 'midi' }, 'response_format'],
    [{ input: 'a', speed: 5 }, 'speed'],
    [{ input: 'a', voice: 5 }, 'voice'],
    [{ input: 'a', ref_audio: 'http://169.254.169.254/' }, 'ref_audio'],
    [{ input: 'a', ref_audio: ['data:audio/wav;base64,AA', 'file:///etc/passwd'] }, 'ref_audio'],
    [{ input: 'a', references: [{ audio_path: 'https://a.example/b.wav', text: 'b' }] }, 'references'],
  ] as const)
    it(`refuses ${JSON.stringify(value).slice(0, 80)} and names ${param}`, () => {
      try {
        read(value);
      } catch (error) {
        expect(error).to.be.instanceOf(ApiError);
        expect((error as ApiError).details.param).to.equal(param);
        return;
      }
      throw new Error('it was taken');
    });

  it('takes references that come along', () => {
    const reference = { ref_audio: 'data:audio/wav;base64,AA', ref_text: 'a: b' };
    expect(sent({ input: 'a', ...reference })).to.include(reference);
  });
});
