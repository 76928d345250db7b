import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import OpenAI7, { toFile } from 'openai';
import OpenAI6 from 'openai-6';
import { makeSamples, wrapWAV } from '../../simulator/sounds.ts';
import { isSimulated, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { usePython } from '../support/python.ts';
import { shareStack } from './shared-stack.ts';

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
    stack = await shareStack();
  });

  for (const [name, OpenAI] of SDKS)
    describe(`${name} for Node`, () => {
      const connect = (kind: string) => {
        const { baseURL, apiKey, modelId: model } = stack.find(kind);
        return { audio: new OpenAI({ baseURL, apiKey, maxRetries: 0 }).audio, model };
      };
      const file = () => toFile(WAV, 'speech.wav');

      it('transcribes, and tells how long the sound was', async () => {
        const { audio, model } = connect('Transcription');
        const { text, usage } = await audio.transcriptions.create({ model, file: await file() });
        expect(text).to.match(/\w/);
        expect(usage).to.deep.equal({ type: 'duration', seconds: 3 });
      });

      // A model with random weights returns no timestamps.
      itSimulated('transcribes with times, and as subtitles', async () => {
        const { audio, model } = connect('Transcription');
        const { text } = await audio.transcriptions.create({ model, file: await file() });
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
        const stream = await audio.transcriptions.create({ model, file: await file(), stream: true });
        let streamed = '';
        let done = '';
        for await (const event of stream)
          if (event.type === 'transcript.text.delta') streamed += event.delta;
          else if (event.type === 'transcript.text.done') done = event.text;
        expect(streamed).to.match(/\w/);
        expect(done).to.equal(streamed);
        // Real engines trim the white space of a whole text differently.
        if (!isSimulated) return;
        const { text } = await audio.transcriptions.create({ model, file: await file() });
        expect(done).to.equal(text);
      });

      it('translates', async () => {
        const { audio, model } = connect('Transcription');
        const { text } = await audio.translations.create({ model, file: await file() });
        expect(text).to.match(/\w/);
      });

      itSimulated('speaks, and is told what is wrong', async () => {
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

  const runPython = async (kind: string, folder: string, lines: string): Promise<string> => {
    const { baseURL, apiKey, modelId } = stack.find(kind);
    const preamble = `
import sys
from openai import OpenAI
audio = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2]).audio
model = sys.argv[3]
`;
    const args = ['-c', preamble + lines, baseURL, apiKey, modelId];
    const { stdout } = await run(findPython(), args, { cwd: folder });
    return stdout;
  };
  const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-audio-'));
    await work(folder).finally(() => rmSync(folder, { recursive: true, force: true }));
  };

  it('is transcribed for Python’s, too', () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, 'speech.wav'), WAV);
      const lines = `
with open("speech.wav", "rb") as file:
    print(audio.transcriptions.create(model=model, file=file).usage.seconds)
with open("speech.wav", "rb") as file:
    events = audio.transcriptions.create(model=model, file=file, stream=True)
    print([event.type for event in events][-1])
`;
      const said = await runPython('Transcription', folder, lines);
      expect(said.trim().split('\n')).to.deep.equal(['3.0', 'transcript.text.done']);
    }));

  itSimulated('is spoken for Python’s, too', () =>
    inFolder(async (folder) => {
      await runPython(
        'Speech',
        folder,
        `
with audio.speech.with_streaming_response.create(
    model=model, voice="alloy", input="A ship leaves at dawn.", response_format="wav",
) as answer:
    answer.stream_to_file("speech.wav")
`,
      );
      expect(readFileSync(join(folder, 'speech.wav')).toString('latin1', 0, 4)).to.equal('RIFF');
    }),
  );
});
