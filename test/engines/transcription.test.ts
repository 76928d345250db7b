/** Transcription by a real engine, through the gateway and directly. */
import { expect } from 'chai';
import { makeSamples, wrapWAV } from '../../simulator/sounds.ts';
import { type Fields, readFrames, strip, type Target } from './answers.ts';
import { readEngine } from './catalog.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name } = readEngine();
const SPEECH = wrapWAV(makeSamples(['a', 'ship', 'leaves', 'at', 'dawn'], 0.5));
const CERTAIN = { temperature: '0', max_completion_tokens: '24' };

interface Event {
  /** Sent by the engine. */
  choices?: { delta: { content?: string } }[];
  /** Sent by the endpoint. */
  type?: string;
  delta?: string;
  text?: string;
}

const readEvents = (text: string): Event[] =>
  readFrames(text)
    .filter((frame) => frame !== '[DONE]')
    .map((frame) => JSON.parse(frame));

describe(`speech in ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name, { kind: 'Transcription' });
  });
  after(() => served?.stop());

  const upload = async (target: Target, path: string, fields: Fields, file: Uint8Array = SPEECH) => {
    const form = new FormData();
    for (const [field, value] of Object.entries({ model: target.model, ...CERTAIN, ...fields }))
      form.append(field, String(value));
    form.append('file', new Blob([new Uint8Array(file)]), 'speech.wav');
    const response = await fetch(`${target.baseURL}/audio/${path}`, {
      method: 'POST',
      headers: target.key ? { authorization: `Bearer ${target.key}` } : {},
      body: form,
    });
    return { status: response.status, text: await response.text() };
  };

  for (const path of ['transcriptions', 'translations'])
    for (const fields of [{ language: 'en' }, {}])
      it(`is what the engine itself writes: ${path}, of a language that is ${'language' in fields ? 'given' : 'not given'}`, async () => {
        const direct = await upload(served.engine, path, fields);
        expect(direct.status, direct.text).to.equal(200);
        expect(JSON.parse(direct.text).text).to.match(/\w/);
        const { status, text } = await upload(served.gateway, path, fields);
        expect(status, text).to.equal(200);
        const answer = JSON.parse(text) as Fields;
        expect(answer.text).to.equal(JSON.parse(direct.text).text);
      });

  it('is the same as text alone', async () => {
    const direct = await upload(served.engine, 'transcriptions', { language: 'en', response_format: 'text' });
    const { status, text } = await upload(served.gateway, 'transcriptions', {
      language: 'en',
      response_format: 'text',
    });
    expect([direct.status, status], text).to.deep.equal([200, 200]);
    expect(text.trim()).to.equal(JSON.parse(direct.text).text.trim());
  });

  it('tells how long the sound was, by which it is priced', async () => {
    const { text } = await upload(served.gateway, 'transcriptions', { language: 'en' });
    expect(JSON.parse(text).usage).to.deep.equal({ type: 'duration', seconds: 3 });
  });

  it('streams in the events of OpenAI what the engine writes', async () => {
    const fields = { language: 'en', stream: 'true' };
    const direct = await upload(served.engine, 'transcriptions', fields);
    expect(direct.status, direct.text).to.equal(200);
    const said = readEvents(direct.text)
      .map(({ choices = [] }) => choices[0]?.delta.content ?? '')
      .join('');
    const { status, text } = await upload(served.gateway, 'transcriptions', fields);
    expect(status, text).to.equal(200);
    const events = readEvents(text);
    expect(events.at(-1)).to.include({ type: 'transcript.text.done', text: said });
    expect(events.map(({ delta }) => delta ?? '').join('')).to.equal(said);
  });

  it('refuses what is no sound in the endpoint’s own form, before the engine sees it', async () => {
    const { status, text } = await upload(served.gateway, 'transcriptions', {}, Buffer.from('hello'));
    expect(status).to.equal(400);
    expect(strip(JSON.parse(text).error)).to.include({ type: 'invalid_request_error' });
  });
});
