import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import OpenAI7, { toFile } from 'openai';
import OpenAI6 from 'openai-6';
import { makeSamples, wrapWAV } from '../../simulator/sounds.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { usePython } from '../support/python.ts';

const WAV = wrapWAV(makeSamples(['a', 'ship', 'leaves', 'at', 'dawn'], 0.5));

const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];

const run = promisify(execFile);

describe('audio with OpenAI’s SDKs', () => {
  let stack: LocalStack;
  const findPython = usePython(['openai==3.22.1']);
  before(async () => {
    stack = await startLocalStack();
  });
  after(() => stack?.stop());

  for (const [name, OpenAI] of SDKS)
    describe(`${name} for Node`, () => {
      const connect = (kind: string) => {
        const { baseURL, apiKey, modelId: model } = stack.find(kind);
        return { audio: new OpenAI({ baseURL, apiKey, maxRetries: 0 }).audio, model };
      };
      const file = () => toFile(WAV, 'speech.wav');

      it('transcribes, in JSON, text and subtitles', async () => {
        const { audio, model } = connect('Transcription');
        const { text, usage } = await audio.transcriptions.create({ model, file: await file() });
        expect(text).to.match(/\w/);
        expect(usage).to.deep.equal({ type: 'duration', seconds: 3 });
        const verbose = await audio.transcriptions.create({
          model,
          file: await file(),
          response_format: 'verbose_json',
          timestamp_granularities: ['word', 'segment'],
        });
        expect(verbose.duration).to.equal(2.5);
        expect(verbose.segments!.map((segment) => segment.text).join('')).to.equal(text);
        const srt = await audio.transcriptions.create({ model, file: await file(), response_format: 'srt' });
        expect(srt).to.match(/^1\n00:00:00,000 --> /);
      });

      it('transcribes as a stream of OpenAI’s events', async () => {
        const { audio, model } = connect('Transcription');
        const { text } = await audio.transcriptions.create({ model, file: await file() });
        const stream = await audio.transcriptions.create({ model, file: await file(), stream: true });
        let streamed = '';
        let done = '';
        for await (const event of stream)
          if (event.type === 'transcript.text.delta') streamed += event.delta;
          else if (event.type === 'transcript.text.done') done = event.text;
        expect([streamed, done]).to.deep.equal([text, text]);
      });

      it('translates', async () => {
        const { audio, model } = connect('Transcription');
        const { text } = await audio.translations.create({ model, file: await file() });
        expect(text).to.match(/\w/);
      });

      it('speaks, and is told what is wrong', async () => {
        const { audio, model } = connect('Speech');
        const request = { model, voice: 'alloy', input: 'A ship leaves at dawn.' } as const;
        const mp3 = Buffer.from(await (await audio.speech.create(request)).arrayBuffer());
        expect([mp3[0], mp3[1]! & 0xe0]).to.deep.equal([0xff, 0xe0]);
        const wav = await audio.speech.create({ ...request, response_format: 'wav' });
        expect(Buffer.from(await wav.arrayBuffer()).toString('latin1', 0, 4)).to.equal('RIFF');
        const error = await audio.speech.create({ ...request, speed: 9 }).catch((refusal) => refusal);
        expect(error).to.be.instanceOf(OpenAI.BadRequestError);
        expect(error.param).to.equal('speed');
      });
    });

  it('are served to Python’s, too', async () => {
    const [transcription, speech] = [stack.find('Transcription'), stack.find('Speech')];
    const folder = mkdtempSync(join(tmpdir(), 'berth-audio-'));
    const lines = `
import sys
from openai import OpenAI
speech = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2]).audio.speech
with speech.with_streaming_response.create(
    model=sys.argv[3], voice="alloy", input="A ship leaves at dawn.", response_format="wav",
) as answer:
    answer.stream_to_file("speech.wav")
audio = OpenAI(base_url=sys.argv[4], api_key=sys.argv[5]).audio
with open("speech.wav", "rb") as file:
    print(audio.transcriptions.create(model=sys.argv[6], file=file).usage.seconds)
with open("speech.wav", "rb") as file:
    events = audio.transcriptions.create(model=sys.argv[6], file=file, stream=True)
    print([event.type for event in events][-1])
`;
    const facts = [speech, transcription].flatMap(({ baseURL, apiKey, modelId }) => [
      baseURL,
      apiKey,
      modelId,
    ]);
    const { stdout } = await run(findPython(), ['-c', lines, ...facts], { cwd: folder });
    expect(stdout.trim().split('\n')).to.deep.equal(['2.0', 'transcript.text.done']);
    expect(readFileSync(join(folder, 'speech.wav')).toString('latin1', 0, 4)).to.equal('RIFF');
    rmSync(folder, { recursive: true, force: true });
  });
});
