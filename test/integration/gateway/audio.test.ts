import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StorageServices } from '../../../gateway/jobs/services.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import { makeSamples, wrapWAV } from '../../../simulator/sounds.ts';
import { pollUntil } from '../../support/poll.ts';
import { startTextEndpoint } from '../../support/text-endpoint.ts';
import { readEnvelope, startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

const WAV = wrapWAV(makeSamples(['a', 'ship', 'leaves', 'at', 'dawn'], 0.5));
const SECONDS = 2.5;
const PRICING = {
  perImage: null,
  perVideoSecond: null,
  perMillionInputTokens: null,
  perMillionOutputTokens: null,
};

async function startAudio(
  kind: 'Transcription' | 'Speech',
  pricing: object = {},
): Promise<TextFixture & { folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'audio-'));
  const spool = await Spool.open({ folder, maxBytes: 64 * 1024 ** 2 });
  const fixture = await startTextFixture({
    kind,
    settings: { pricing: { ...PRICING, ...pricing } as never },
    storage: { spool } as StorageServices,
  });
  return Object.assign(fixture, { folder });
}
const readSpent = ({ connection, endpoint }: TextFixture) =>
  readSpentMicros(connection.redis, endpoint.config.namespace);

interface UploadOptions {
  file?: Buffer | null;
  path?: string;
  key?: string;
  signal?: AbortSignal;
}

function upload(
  { endpoint, key: ownKey }: TextFixture,
  parts: Record<string, string> = {},
  { file = WAV, path = '/v1/audio/transcriptions', key = ownKey, signal }: UploadOptions = {},
): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of Object.entries(parts)) body.append(name, value);
  if (file) body.append('file', new Blob([new Uint8Array(file)]), 'speech.wav');
  return fetch(`${endpoint.origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
    signal,
  });
}

describe('transcription', () => {
  let fixture: TextFixture & { folder: string };
  before(async () => {
    fixture = await startAudio('Transcription');
  });
  after(async () => {
    await fixture?.stop();
    rmSync(fixture.folder, { recursive: true, force: true });
  });
  beforeEach(() => fixture.simulator.reset());

  const send = (parts?: Record<string, string>, options?: UploadOptions) => upload(fixture, parts, options);

  it('answers what was said in OpenAI’s schema, with limits told, and leaves no file behind', async () => {
    const response = await send({ model: fixture.endpoint.config.modelId, language: 'en' });
    expect(response.status).to.equal(200);
    const { text, usage } = (await response.json()) as { text: string; usage: object };
    expect(text).to.match(/\w/);
    expect(usage).to.deep.equal({ type: 'duration', seconds: 3 });
    expect(response.headers.get('x-ratelimit-remaining')).to.match(/^\d+$/);
    await pollUntil(async () => readdirSync(fixture.folder).length === 0);
  });

  it('writes every format, of engines that know two', async () => {
    const read = async (format: string) => {
      const response = await send({ response_format: format });
      return [response.headers.get('content-type'), await response.text()] as const;
    };
    const [, json] = await read('json');
    const { text } = JSON.parse(json);
    expect(await read('text')).to.deep.equal(['text/plain; charset=utf-8', `${text}\n`]);
    const [, verbose] = await read('verbose_json');
    expect(JSON.parse(verbose)).to.deep.include({
      duration: SECONDS,
      usage: { type: 'duration', seconds: 3 },
    });
    expect((await read('srt'))[1]).to.match(/^1\n00:00:00,000 --> 00:00:0/);
    expect((await read('vtt'))[1]).to.match(/^WEBVTT\n\n00:00:00\.000 --> /);
  });

  it('streams OpenAI’s events to their end', async () => {
    const response = await send({ stream: 'true' });
    expect(response.headers.get('content-type')).to.include('text/event-stream');
    const events = (await response.text()).trim().split('\n\n');
    expect(events.at(-1)).to.equal('data: [DONE]');
    const parsed = events.slice(0, -1).map((each) => JSON.parse(each.slice(6)));
    const deltas = parsed.flatMap(({ type, delta }) => (type === 'transcript.text.delta' ? [delta] : []));
    expect(deltas.length).to.be.greaterThan(2);
    expect(parsed.at(-1)).to.deep.equal({
      type: 'transcript.text.done',
      text: deltas.join(''),
      usage: { type: 'duration', seconds: 3 },
    });
  });

  it('ends a stream that the engine breaks with an error event', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'end', afterFrames: 2 } });
    const text = await (await send({ stream: 'true' })).text();
    expect(text.trim().split('\n\n').at(-1)).to.include('"code":"upstream_error"');
    expect(text).not.to.include('[DONE]');
  });

  for (const [name, parts, options, param] of [
    ['what is no audio', {}, { file: Buffer.from('<svg>') }, 'file'],
    ['a form without a file', { prompt: 'a' }, { file: null }, 'file'],
    ['an unknown format', { response_format: 'docx' }, {}, 'response_format'],
    ['subtitles as a stream', { response_format: 'srt', stream: 'true' }, {}, 'response_format'],
    ['another model', { model: 'other' }, {}, 'model'],
    [
      'granularities that are no words',
      { 'timestamp_granularities[]': 'a,'.repeat(1_000) },
      {},
      'timestamp_granularities[]',
    ],
    ['a temperature that is none', { temperature: 'hot' }, {}, 'temperature'],
  ] as const)
    it(`refuses ${name} before the engine hears of it`, async () => {
      const response = await send(parts, options);
      const { error } = (await response.json()) as { error: { param: string } };
      expect([response.status, error.param]).to.deep.equal([400, param]);
      expect((await fixture.simulator.readControl()).requests).to.equal(0);
      await pollUntil(async () => readdirSync(fixture.folder).length === 0);
    });

  it('answers the engine’s complaint with the model’s id, not the engine’s own name of it', async () => {
    const { config } = fixture.endpoint;
    const ownName = config.servedModelName;
    config.servedModelName = '/mnt/models/own';
    const error = await readEnvelope(await send()).finally(() => {
      config.servedModelName = ownName;
    });
    expect(error.message).to.include(config.modelId).and.not.include('/mnt/models/own');
  });

  it('refuses a file over the limit', async () => {
    fixture.endpoint.config.limits.fileBytes = 1_000;
    const error = await readEnvelope(await send());
    fixture.endpoint.config.limits.fileBytes = 50 * 1024 ** 2;
    expect([error.status, error.code]).to.deep.equal([413, 'request_too_large']);
  });

  it('takes both granularities of timestamps', async () => {
    const body = new FormData();
    for (const each of ['word', 'segment']) body.append('timestamp_granularities[]', each);
    body.append('response_format', 'verbose_json');
    body.append('file', new Blob([new Uint8Array(WAV)]), 'a.wav');
    const response = await fetch(`${fixture.endpoint.origin}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}` },
      body,
    });
    expect(response.status).to.equal(200);
    const { last } = await fixture.simulator.readControl();
    const names = (last!.body as { name: string; value: string }[]).filter(({ name }) =>
      name.startsWith('timestamp'),
    );
    expect(names.map(({ value }) => value)).to.deep.equal(['word', 'segment']);
  });

  it('frees the engine and the disk when its client leaves', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 0 } });
    const client = new AbortController();
    const request = send({}, { signal: client.signal }).catch(() => {});
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 1);
    client.abort();
    await request;
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 0);
    await pollUntil(async () => readdirSync(fixture.folder).length === 0);
    expect(fixture.endpoint.slots.inflight).to.equal(0);
  });

  it('needs a key, and counts against its requests per minute', async () => {
    expect((await send({}, { key: 'sk-wrong' })).status).to.equal(401);
    const key = await fixture.endpoint.makeKey({ rpm: 1 });
    expect([(await send({}, { key })).status, (await send({}, { key })).status]).to.deep.equal([200, 429]);
  });
});

describe('speech', () => {
  let fixture: TextFixture & { folder: string };
  before(async () => {
    fixture = await startAudio('Speech');
  });
  after(async () => {
    await fixture?.stop();
    rmSync(fixture.folder, { recursive: true, force: true });
  });
  beforeEach(() => fixture.simulator.reset());

  const input = 'A ship leaves at dawn.';
  const speak = (body: object = {}, init?: { signal?: AbortSignal; key?: string }) =>
    fixture.post('/v1/audio/speech', { input, voice: 'v', ...body }, init);

  it('answers the audio under its type', async () => {
    const mp3 = await speak();
    expect(mp3.headers.get('content-type')).to.equal('audio/mpeg');
    expect(Number(mp3.headers.get('content-length'))).to.equal((await mp3.arrayBuffer()).byteLength);
    const wav = await speak({ response_format: 'wav' });
    expect(Buffer.from(await wav.arrayBuffer()).toString('latin1', 0, 4)).to.equal('RIFF');
    expect(wav.headers.get('x-ratelimit-remaining')).to.match(/^\d+$/);
  });

  it('streams bytes as they are made, and events with the audio in them', async () => {
    await fixture.simulator.putControl({ itlMs: 20 });
    const whole = Buffer.from(await (await speak({ response_format: 'pcm' })).arrayBuffer());
    const bytes = await speak({ response_format: 'pcm', stream_format: 'audio' });
    expect(Buffer.from(await bytes.arrayBuffer()).equals(whole)).to.equal(true);
    const events = (await (await speak({ response_format: 'pcm', stream_format: 'sse' })).text())
      .trim()
      .split('\n\n');
    expect(events.at(-2)).to.include('speech.audio.done');
    expect(events.at(-1)).to.equal('data: [DONE]');
  });

  it('breaks off where the engine does: half an answer never looks like a whole one', async () => {
    for (const body of [{}, { response_format: 'pcm', stream_format: 'audio' }]) {
      await fixture.simulator.putControl({ fault: { kind: 'drop', afterFrames: 1 } });
      const failure = await speak(body)
        .then((response) => response.arrayBuffer())
        .then(
          () => null,
          (error) => error,
        );
      expect(failure).to.be.instanceOf(Error);
    }
  });

  it('answers the engine’s errors in the envelope', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'error-frame', afterFrames: 0, shape: 'detail' } });
    const error = await readEnvelope(await speak());
    expect([error.status, error.code]).to.deep.equal([502, 'upstream_error']);
    expect((await readEnvelope(await speak({ response_format: 'opus' }))).status).to.equal(400);
  });

  it('frees the engine when its client leaves', async () => {
    await fixture.simulator.putControl({ fault: { kind: 'hang', afterFrames: 1 } });
    const client = new AbortController();
    const response = await speak(
      { response_format: 'pcm', stream_format: 'audio' },
      { signal: client.signal },
    );
    expect(response.status).to.equal(200);
    client.abort();
    await pollUntil(async () => (await fixture.simulator.readControl()).inflight === 0);
    expect(fixture.endpoint.slots.inflight).to.equal(0);
  });

  it('counts no error of the engine where none has a place', async () => {
    const endpoint = await startTextEndpoint({
      connection: fixture.connection,
      engineURL: fixture.simulator.url,
      settings: { kind: 'Speech' },
      storage: { spool: {} } as StorageServices,
      capacity: {
        acquire: () => ({ refusal: 'no_pod_available' }),
        acquireElsewhere: () => ({ refusal: 'no_pod_available' }),
      },
    });
    const response = await fetch(`${endpoint.origin}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await endpoint.makeKey()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input }),
    });
    const { values } = await endpoint.metrics.engineErrors.get();
    await endpoint.stop();
    expect([response.status, values]).to.deep.equal([503, []]);
  });

  it('is bounded in time', async () => {
    fixture.endpoint.config.limits.requestTimeoutMs = 300;
    await fixture.simulator.putControl({ ttftMs: 60_000 });
    const error = await readEnvelope(await speak());
    fixture.endpoint.config.limits.requestTimeoutMs = 120_000;
    expect([error.status, error.code]).to.deep.equal([504, 'request_timeout']);
  });
});

describe('the price of audio', () => {
  let fixture: TextFixture & { folder: string };
  const start = async (kind: 'Transcription' | 'Speech') => {
    fixture = await startAudio(kind, { perAudioMinute: 60_000_000, perMillionCharacters: 1_000_000_000 });
  };
  afterEach(async () => {
    await fixture?.stop();
    rmSync(fixture.folder, { recursive: true, force: true });
  });
  const untilSpent = (micros: number) =>
    pollUntil(async () => Math.abs((await readSpent(fixture)) - micros) < 5_000);

  it('is by the minute: of what the engine tells, else of the sound’s own header', async () => {
    await start('Transcription');
    expect((await upload(fixture)).status).to.equal(200);
    await untilSpent(3_000_000);
    expect((await upload(fixture, {}, { path: '/v1/audio/translations' })).status).to.equal(200);
    await untilSpent(5_500_000);
  });

  it('is nothing where the engine fails', async () => {
    await start('Transcription');
    await fixture.simulator.putControl({ fault: { kind: 'status', status: 500 } });
    expect((await upload(fixture)).status).to.equal(502);
    expect((await upload(fixture)).status).to.equal(200);
    await untilSpent(3_000_000);
  });

  it('is by the characters that are spoken', async () => {
    await start('Speech');
    await (await fixture.post('/v1/audio/speech', { input: 'A ship leaves at dawn.' })).arrayBuffer();
    await untilSpent(22_000);
  });
});
