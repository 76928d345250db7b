import { expect } from 'chai';
import type { EnginePriority } from '../../../../api/engine-traits.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { CHAT, COMPLETIONS, EMBEDDINGS } from '../../../../gateway/text/openai-routes.ts';
import { readTextRequest, type TextRequest } from '../../../../gateway/text/text-request.ts';
import { bodyOf } from '../../../support/body-of.ts';

const MODEL = { modelId: 'org/m', servedModelName: 'org/m', enginePreset: 'vllm' };
const messages = [{ role: 'user', content: 'hi' }];

function readText(text: string, route = CHAT, model = MODEL): TextRequest {
  return readTextRequest(bodyOf(text), route, model);
}
const read = (value: object, route = CHAT, model = MODEL) => readText(JSON.stringify(value), route, model);

function refusal(value: object, route = CHAT): ApiError {
  try {
    read(value, route);
  } catch (error) {
    expect(error).to.be.instanceOf(ApiError);
    return error as ApiError;
  }
  throw new Error('it was taken');
}

describe('a text request', () => {
  it('goes to the engine byte for byte when nothing needs a change', () => {
    const text =
      '{ "model":"org/m", "seed":12345678901234567890, "messages":[{"role":"user","content":"ü"}], "x":1.0 }';
    expect(readText(text).payload.toString()).to.equal(text);
  });

  it('is given the model where it is missing or null', () => {
    expect(JSON.parse(read({ messages }).payload.toString()).model).to.equal('org/m');
    expect(JSON.parse(read({ messages, model: null }).payload.toString()).model).to.equal('org/m');
  });

  it('contains the engine’s own name of the model', () => {
    const sent = read({ messages, model: 'org/m' }, CHAT, {
      modelId: 'org/m',
      servedModelName: '/weights',
      enginePreset: 'vllm',
    });
    expect(JSON.parse(sent.payload.toString()).model).to.equal('/weights');
  });

  describe('has the priority of its key', () => {
    const sent = (body: object, enginePriority?: EnginePriority, keyPriority?: number): unknown => {
      const text = JSON.stringify({ model: 'org/m', messages, ...body });
      const request = bodyOf(text);
      const model = { ...MODEL, ...(enginePriority && { enginePriority }) };
      return JSON.parse(readTextRequest(request, CHAT, model, keyPriority).payload.toString()).priority;
    };
    const cases: [
      what: string,
      body: object,
      engine: EnginePriority | undefined,
      key: number,
      sent: unknown,
    ][] = [
      ['as vLLM counts', {}, 'lower-first', 5, -5],
      ['as SGLang counts', {}, 'higher-first', 5, 5],
      ['unless it is the usual one', {}, 'lower-first', 0, undefined],
      ['unless the engine takes none', {}, undefined, 5, undefined],
      ['in the place of the client’s own', { priority: -100 }, 'lower-first', 5, -5],
      ['and never the client’s own', { priority: -100 }, 'lower-first', 0, 0],
      ['and never the client’s own, whatever the engine', { priority: -100 }, undefined, 0, 0],
      ['and never the client’s own null', { priority: null }, 'higher-first', 0, 0],
    ];
    for (const [what, body, engine, key, expected] of cases)
      it(what, () => {
        expect(sent(body, engine, key)).to.equal(expected);
      });

    it('however often and however the client writes it', () => {
      const text = '{"model":"org/m","messages":[{"role":"user"}],"priority":1,"priorit\\u0079":-9}';
      expect(readText(text).payload.toString()).to.equal(
        '{"model":"org/m","messages":[{"role":"user"}],"priority":0,"priorit\\u0079":0}',
      );
    });
  });

  const options: [string, object, object | undefined, boolean][] = [
    ['asks for usage in a stream', { stream: true }, { include_usage: true }, false],
    [
      'keeps other stream options',
      { stream: true, stream_options: { x: 1 } },
      { x: 1, include_usage: true },
      false,
    ],
    [
      'overrides include_usage: false',
      { stream: true, stream_options: { include_usage: false } },
      { include_usage: true },
      false,
    ],
    ['overrides null', { stream: true, stream_options: null }, { include_usage: true }, false],
    [
      'leaves what the client asked',
      { stream: true, stream_options: { include_usage: true } },
      { include_usage: true },
      true,
    ],
    ['asks nothing of a whole answer', { stream: false }, undefined, false],
    ['takes stream: null for false', { stream: null }, undefined, false],
  ];
  for (const [behavior, fields, expected, isUsageWanted] of options)
    it(behavior, () => {
      const request = read({ messages, ...fields });
      expect(JSON.parse(request.payload.toString()).stream_options).to.deep.equal(expected);
      expect(request.isUsageWanted).to.equal(isUsageWanted);
    });

  const refusals: [string, object, typeof CHAT, string, string, RegExp][] = [
    ['no messages', {}, CHAT, 'missing_required_parameter', 'messages', /required/],
    [
      'messages as a text',
      { messages: 'hi' },
      CHAT,
      'invalid_type',
      'messages',
      /array of objects, not "hi"/,
    ],
    ['empty messages', { messages: [] }, CHAT, 'empty_array', 'messages', /not an empty array/],
    ['a message as a text', { messages: ['hi'] }, CHAT, 'invalid_type', 'messages', /array of objects/],
    ['a null message', { messages: [null] }, CHAT, 'invalid_type', 'messages', /array of objects/],
    [
      'temperature as a text',
      { messages, temperature: '1' },
      CHAT,
      'invalid_type',
      'temperature',
      /a number/,
    ],
    ['top_p as a list', { messages, top_p: [] }, CHAT, 'invalid_type', 'top_p', /a number/],
    [
      'max_tokens with a fraction',
      { messages, max_tokens: 1.5 },
      CHAT,
      'invalid_type',
      'max_tokens',
      /an integer/,
    ],
    ['stream as a text', { messages, stream: 'true' }, CHAT, 'invalid_type', 'stream', /true or false/],
    [
      'stream_options as a list',
      { messages, stream_options: [] },
      CHAT,
      'invalid_type',
      'stream_options',
      /an object/,
    ],
    ['n of zero', { messages, n: 0 }, CHAT, 'integer_below_min_value', 'n', /at least 1/],
    ['stop with a number', { messages, stop: ['a', 1] }, CHAT, 'invalid_type', 'stop', /strings/],
    ['model as a number', { messages, model: 5 }, CHAT, 'invalid_type', 'model', /a string/],
    ['no prompt', {}, COMPLETIONS, 'missing_required_parameter', 'prompt', /required/],
    [
      'a prompt of objects',
      { prompt: [{}] },
      COMPLETIONS,
      'invalid_type',
      'prompt',
      /strings or of token ids/,
    ],
    ['no input', {}, EMBEDDINGS, 'missing_required_parameter', 'input', /required/],
    [
      'input and messages',
      { input: 'x', messages },
      EMBEDDINGS,
      'invalid_value',
      'messages',
      /mutually exclusive/,
    ],
    ['messages as a text', { messages: 'x' }, EMBEDDINGS, 'invalid_type', 'messages', /array of objects/],
    ['an empty input', { input: [] }, EMBEDDINGS, 'empty_array', 'input', /non-empty/],
    [
      'an unknown encoding',
      { input: 'x', encoding_format: 'hex' },
      EMBEDDINGS,
      'invalid_value',
      'encoding_format',
      /"float" or "base64"/,
    ],
  ];
  for (const [what, body, route, code, param, message] of refusals)
    it(`is refused for ${what}, which the error names`, () => {
      const error = refusal(body, route);
      expect([error.status, error.code, error.details.param]).to.deep.equal([400, code, param]);
      expect(error.message).to.match(message);
    });

  it('embeds messages, with their images, where the engine is vLLM', () => {
    const url = 'https://example.com/a.png';
    const body = {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      input: null,
    };
    const { path, payload, media } = read(body, EMBEDDINGS);
    expect([path, JSON.parse(payload.toString())]).to.deep.equal([
      '/v1/embeddings',
      { ...body, model: 'org/m' },
    ]);
    expect(media.map((each) => each.url)).to.deep.equal([url]);
    expect(() => read(body, EMBEDDINGS, { ...MODEL, enginePreset: 'tei' })).to.throw(
      ApiError,
      'embedded by the engine',
    );
  });

  it('is rejected for another model, with the right one named', () => {
    const error = refusal({ messages, model: 'gpt-4' });
    expect([error.status, error.code, error.details.param]).to.deep.equal([400, 'model_mismatch', 'model']);
    expect(error.message).to.contain('org/m');
  });

  it('passes fields that are not documented, whatever their type', () => {
    const fields = { tools: 'x', seed: 'y', logprobs: 5, user: null, __proto: 1 };
    expect(JSON.parse(read({ messages, ...fields }).payload.toString())).to.include(fields);
  });

  it('keeps __proto__ a mere field', () => {
    const { payload } = readText('{"messages":[{"role":"user"}],"__proto__":{"stream":true}}');
    expect(payload.toString()).to.contain('"__proto__":{"stream":true}');
    expect(({} as { stream?: unknown }).stream).to.equal(undefined);
  });

  const inputs: unknown[] = ['a', ['a', 'b'], [1, 2], [[1], [2, 3]]];
  for (const input of inputs)
    it(`takes ${JSON.stringify(input)} to embed`, () => {
      expect(JSON.parse(read({ input }, EMBEDDINGS).payload.toString()).input).to.deep.equal(input);
    });

  const media: [string, object, boolean][] = [
    ['an inline image', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }, true],
    ['an inline image as a text', { type: 'image_url', image_url: 'data:image/png;base64,AAAA' }, true],
    ['another medium', { type: 'file_url', file_url: { url: 'http://10.0.0.1/' } }, false],
    [
      'a sound that was sent along',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      true,
    ],
    ['a text that names a URL', { type: 'text', text: 'https://example.com' }, true],
  ];
  for (const [what, part, isTaken] of media)
    it(`${isTaken ? 'takes' : 'refuses'} ${what}`, () => {
      const body = { messages: [{ role: 'user', content: [part] }] };
      if (isTaken) {
        expect(read(body).payload.toString()).to.contain(JSON.stringify(part));
        expect(read(body).media).to.deep.equal([]);
      } else expect(refusal(body).message).to.contain('data: URL');
    });

  const fetchable: [string, object, string[], string?][] = [
    [
      'an object',
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ['image_url', 'url'],
    ],
    ['a text', { type: 'image_url', image_url: 'https://example.com/a.png' }, ['image_url']],
    [
      'a video',
      { type: 'video_url', video_url: { url: 'https://example.com/a.png' } },
      ['video_url', 'url'],
      'video',
    ],
    ['a sound', { type: 'audio_url', audio_url: 'https://example.com/a.png' }, ['audio_url'], 'audio'],
    ['a part without a type', { image_url: { url: 'https://example.com/a.png' } }, ['image_url', 'url']],
  ];
  for (const [what, part, place, kind = 'image'] of fetchable)
    it(`finds the URL of a medium to fetch in ${what}`, () => {
      const content = [{ type: 'text', text: 'x' }, part];
      expect(read({ messages: [{ role: 'system', content: 'x' }, { content }] }).media).to.deep.equal([
        { kind, path: ['messages', 1, 'content', 1, ...place], url: 'https://example.com/a.png' },
      ]);
    });

  it('does not count inline media as prompt text', () => {
    const url = `data:image/png;base64,${'A'.repeat(100_000)}`;
    const request = read({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });
    expect(request.promptBytes).to.be.below(200);
  });
});
