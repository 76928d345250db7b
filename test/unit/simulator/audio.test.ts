import { expect } from 'chai';
import { makeSamples, wrapWAV } from '../../../simulator/sounds.ts';
import { type RunningSimulator as Running, RunningSimulator, readStream } from './running-simulator.ts';

const WAV = wrapWAV(makeSamples(['a', 'ship', 'leaves', 'at', 'dawn'], 0.5));

describe('the simulated transcription', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ kind: 'Transcription' });
  });
  after(() => simulator.stop());

  const path = '/v1/audio/transcriptions';
  const ask = (parts: [string, string | Buffer][] = [], where = path) =>
    simulator.postForm(where, [['file', WAV], ...parts]);
  interface Transcript {
    text: string;
    usage?: { type: string; seconds: number };
    duration: string;
    segments: { start: number; end: number; text: string }[];
  }

  it('has the same words for the same sound, and the duration as usage', async () => {
    const first = (await (await ask()).json()) as Transcript;
    const second = (await (await ask([['response_format', 'text']])).json()) as Transcript;
    expect(first.text)
      .to.equal(second.text)
      .and.to.match(/^[A-Z].*\w/);
    expect(first.usage).to.deep.equal({ type: 'duration', seconds: 3 });
  });

  it('tells segments that follow each other, with all of the words', async () => {
    const { segments, duration, text } = (await (
      await ask([['response_format', 'verbose_json']])
    ).json()) as Transcript;
    expect(duration).to.equal('2.5');
    expect(segments.map((segment) => segment.text).join('')).to.equal(text);
    expect([segments[0]!.start, segments.at(-1)!.end]).to.deep.equal([0, 2.5]);
  });

  it('streams chunks as vLLM does', async () => {
    const { text } = (await (await ask()).json()) as Transcript;
    const { events, isDone } = await readStream(await ask([['stream', 'true']]));
    const deltas = events.map(
      (event) => (event.choices as { delta: { content: string } }[])[0]!.delta.content,
    );
    expect([deltas.join(''), isDone]).to.deep.equal([text, true]);
    expect(events[0]!.object).to.equal('transcription.chunk');
  });

  it('translates, without usage', async () => {
    const answer = (await (await ask([], '/v1/audio/translations')).json()) as Transcript;
    expect(Object.keys(answer)).to.deep.equal(['text']);
  });

  it('refuses what is no audio, and formats that vLLM does not have', async () => {
    const noise = await simulator.postForm(path, [['file', Buffer.from('not a sound')]]);
    const missing = await simulator.postForm(path, [['prompt', 'a']]);
    const formats = await Promise.all(['srt', 'vtt'].map((format) => ask([['response_format', format]])));
    expect([noise, missing, ...formats].map(({ status }) => status)).to.deep.equal([400, 400, 400, 400]);
  });

  it('counts as an inference call, with the parts of the form', async () => {
    await ask([['prompt', 'ships']]);
    const { last, recent } = await simulator.readControl();
    expect(recent.at(-1)).to.include({ path, prompt: 'ships' });
    expect(last!.body).to.deep.include({
      name: 'file',
      filename: 'upload.png',
      size: WAV.length,
      value: null,
    });
  });
});

describe('the simulated speech', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ kind: 'Speech' });
  });
  after(() => simulator.stop());

  const speak = (body: object) =>
    simulator.post('/v1/audio/speech', { input: 'A ship leaves', voice: 'v', ...body });
  const read = async (response: Response) => Buffer.from(await response.arrayBuffer());

  it('is a WAV whose header tells its length', async () => {
    const response = await speak({});
    expect(response.headers.get('content-type')).to.equal('audio/wav');
    const bytes = await read(response);
    expect(bytes.toString('latin1', 0, 4)).to.equal('RIFF');
    expect(bytes.readUInt32LE(40)).to.equal(bytes.length - 44);
  });

  it('is as long as its words, and shorter when spoken faster', async () => {
    const [slow, fast] = await Promise.all(
      [speak({}), speak({ speed: 2 })].map(async (each) => read(await each)),
    );
    expect(slow!.length - 44).to.equal(2 * (fast!.length - 44));
  });

  it('may be MP3, too', async () => {
    const bytes = await read(await speak({ response_format: 'mp3' }));
    expect([bytes[0], bytes[1]! & 0xe0]).to.deep.equal([0xff, 0xe0]);
  });

  it('is streamed as bytes or as events, the same', async () => {
    const whole = await read(await speak({ response_format: 'pcm' }));
    const bytes = await read(await speak({ response_format: 'pcm', stream_format: 'audio' }));
    const { events } = await readStream(await speak({ response_format: 'pcm', stream_format: 'sse' }));
    const told = events.flatMap(({ audio }) =>
      typeof audio === 'string' ? [Buffer.from(audio, 'base64')] : [],
    );
    expect(bytes.equals(whole)).to.equal(true);
    expect(Buffer.concat(told).equals(whole)).to.equal(true);
    expect(events.at(-1)!.type).to.equal('speech.audio.done');
  });

  it('refuses what it cannot speak', async () => {
    for (const body of [
      { input: '' },
      { input: 'a'.repeat(4097) },
      { response_format: 'opus' },
      { speed: 9 },
      { response_format: 'mp3', stream_format: 'sse' },
    ])
      expect((await speak(body)).status).to.equal(400);
  });
});
