import { expect } from 'chai';
import {
  findEngineError,
  hideEngineName,
  isUnknownModel,
  readEngineError,
} from '../../../../gateway/engine/engine-error.ts';
import { expectLinear } from '../../../support/growth.ts';

const read = (status: number, body: unknown) =>
  readEngineError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

/** The errors as each engine sends them. */
const overflows: [engine: string, status: number, body: object][] = [
  [
    'vLLM',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 64 tokens. However, you requested 16 output tokens and your prompt contains 90 input tokens, for a total of 106 tokens.",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
  ],
  [
    'vLLM, by its scheduler',
    400,
    {
      error: {
        message: 'The decoder prompt (length 90) is longer than the maximum model length of 64.',
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    },
  ],
  [
    'SGLang',
    400,
    {
      object: 'error',
      message: "The input (90 tokens) is longer than the model's context length (64 tokens).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'SGLang, with the output',
    400,
    {
      object: 'error',
      message: "Requested token count exceeds the model's maximum context length of 64 tokens.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'request (90 tokens) exceeds the available context size (64 tokens), try increasing it',
        type: 'exceed_context_size_error',
      },
    },
  ],
  [
    'llama.cpp, of an embedding',
    500,
    {
      error: {
        code: 500,
        message: 'input (90 tokens) is too large to process. increase the physical batch size',
      },
    },
  ],
  [
    'TEI',
    413,
    { message: '`inputs` must have less than 64 tokens. Given: 90', code: 413, type: 'validation' },
  ],
];

describe('the error of an engine', () => {
  const cases: [
    string,
    number,
    unknown,
    { status: number; code: string; message: RegExp; param?: string },
  ][] = [
    [
      'vLLM: nested, integer code',
      400,
      { error: { message: 'too long', type: 'BadRequestError', param: 'messages', code: 400 } },
      { status: 400, code: 'invalid_value', message: /^too long$/, param: 'messages' },
    ],
    [
      'vLLM: a path of pydantic',
      400,
      {
        error: {
          message: '{\'msg\': "Input should be a valid string"}',
          param: 'body.tools.0.name',
          code: 400,
        },
      },
      { status: 400, code: 'invalid_type', message: /valid string/, param: 'tools[0].name' },
    ],
    [
      'vLLM: a missing field',
      400,
      { error: { message: "{'msg': 'Field required'}", param: 'body.messages.1.role', code: 400 } },
      { status: 400, code: 'missing_required_parameter', message: /required/, param: 'messages[1].role' },
    ],
    [
      'a finer code of the engine',
      400,
      { error: { message: 'too long', code: 'context_length_exceeded' } },
      { status: 400, code: 'context_length_exceeded', message: /^too long$/ },
    ],
    [
      'TEI: flat',
      413,
      { message: 'batch size', code: 413, type: 'validation' },
      { status: 413, code: 'request_too_large', message: /^batch size$/ },
    ],
    [
      'TEI: validation',
      422,
      { message: 'inputs', type: 'validation' },
      { status: 422, code: 'invalid_request_error', message: /inputs/ },
    ],
    [
      'TEI: overloaded',
      429,
      { message: 'no permits', type: 'overloaded' },
      { status: 429, code: 'replica_saturated', message: /no permits/ },
    ],
    [
      'vLLM 0.29 to 0.32: --max-num-queued-reqs',
      503,
      {
        error: {
          message:
            'The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.',
          type: 'Service Unavailable',
          param: null,
          code: 503,
        },
      },
      { status: 429, code: 'replica_saturated', message: /cannot accept new requests/ },
    ],
    [
      'vLLM 0.29 to 0.32: --max-num-queued-tokens, of a message',
      503,
      {
        type: 'error',
        error: {
          type: 'Service Unavailable',
          message:
            'The engine has reached its prefill token backlog limit. Please try again later or on a different instance.',
        },
      },
      { status: 429, code: 'replica_saturated', message: /backlog limit/ },
    ],
    [
      'SGLang 0.5.23: --max-queued-requests',
      503,
      { object: 'error', message: 'The request queue is full.', type: '503', param: null, code: 503 },
      { status: 429, code: 'replica_saturated', message: /queue is full/ },
    ],
    [
      'SGLang 0.5.23: the same of a message',
      503,
      { type: 'error', error: { type: 'overloaded_error', message: 'Internal server error' } },
      { status: 429, code: 'replica_saturated', message: /at capacity/ },
    ],
    [
      'vLLM 0.32: draining',
      500,
      {
        error: {
          message: 'cannot schedule new futures after shutdown',
          type: 'InternalServerError',
          param: null,
          code: 500,
        },
      },
      { status: 503, code: 'no_pod_available', message: /shutting down/ },
    ],
    [
      'vLLM 0.32: what it generated for a tool of a message is no object',
      400,
      {
        type: 'error',
        error: {
          type: 'BadRequestError',
          message:
            '1 validation error for AnthropicContentBlock\ninput\n  Input should be a valid dictionary [type=dict_type, input_value=False, input_type=bool]',
        },
      },
      { status: 502, code: 'upstream_error', message: /validation error for AnthropicContentBlock/ },
    ],
    ...(['image', 'audio'] as const).map((medium): (typeof cases)[number] => [
      `llama.cpp build 11669: ${medium} for a text model`,
      500,
      {
        error: {
          code: 500,
          message: `${medium} input is not supported - hint: if this is unexpected, you may need to provide the mmproj`,
          type: 'server_error',
        },
      },
      { status: 400, code: 'unsupported_value', message: /^\w+ input is not supported/ },
    ]),
    [
      'llama.cpp: loading',
      503,
      { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
      { status: 502, code: 'upstream_error', message: /Loading model/ },
    ],
    ...overflows.map(([engine, status, body]): (typeof cases)[number] => [
      `a context that is too small for ${engine}`,
      status,
      body,
      { status: 400, code: 'context_length_exceeded', message: /\d+/ },
    ]),
    ['detail', 500, { detail: 'boom' }, { status: 502, code: 'upstream_error', message: /boom/ }],
    [
      'detail as a list',
      400,
      { detail: [{ loc: ['body'], msg: 'bad' }] },
      { status: 400, code: 'invalid_request_error', message: /bad/ },
    ],
    [
      'error as a text',
      503,
      { error: 'Loading model' },
      { status: 502, code: 'upstream_error', message: /Loading model/ },
    ],
    [
      'plain text',
      500,
      'Internal Server Error',
      { status: 502, code: 'upstream_error', message: /Internal Server Error/ },
    ],
    ['a page', 502, '<html>bad</html>', { status: 502, code: 'upstream_error', message: /status 502/ }],
    ['nothing', 500, '', { status: 502, code: 'upstream_error', message: /status 500/ }],
    [
      'its own model name is unknown',
      404,
      { error: { message: 'no such model', code: 404 } },
      { status: 502, code: 'upstream_error', message: /no such model/ },
    ],
    [
      'the engine wants a key',
      401,
      { error: 'Unauthorized' },
      { status: 502, code: 'upstream_error', message: /Unauthorized/ },
    ],
    [
      'out of memory',
      500,
      { error: { message: 'CUDA out of memory. Tried' } },
      { status: 502, code: 'upstream_error', message: /ran out of memory/ },
    ],
    [
      'out of memory as a 400',
      400,
      { error: { message: 'torch.OutOfMemoryError: x' } },
      { status: 502, code: 'upstream_error', message: /ran out of memory/ },
    ],
  ];
  for (const [what, status, body, expected] of cases)
    it(`is put into one shape: ${what}`, () => {
      const error = read(status, body);
      expect(error.status).to.equal(expected.status);
      expect(error.details.detailCode ?? error.code).to.equal(expected.code);
      expect(error.message).to.match(expected.message);
      expect(error.details.param ?? undefined).to.equal(expected.param);
    });

  it('takes time in proportion to what the engine says, which may repeat a request', () => {
    for (const unit of ['input', 'out of ', 'must have less than 1', '1'])
      for (const status of [400, 500])
        expectLinear((length) => {
          read(status, { error: { message: unit.repeat(length / unit.length) } });
        }, `${unit}, ${status}`);
  });

  describe('that names the model as the engine does', () => {
    const say = (message: string, servedModelName: string): string => {
      const error = read(400, { error: { message } });
      hideEngineName(error, { servedModelName, modelId: 'acme/chat' });
      return error.message;
    };

    it('says the model id', () => {
      expect(say('Model "/models/weights.v1" has no chat template.', '/models/weights.v1')).to.equal(
        'Model "acme/chat" has no chat template.',
      );
      expect(say('no $1 (a+b) here', '(a+b)')).to.equal('no $1 acme/chat here');
    });

    it('leaves words that only contain the name', () => {
      expect(say('a chat of chats at /chat/x', 'chat')).to.equal('a acme/chat of chats at /chat/x');
    });
  });

  it('is that of an unknown model in the words of vLLM, in each of its dialects, and not of anything else unknown', () => {
    const message = 'The model `sql-1f` does not exist.';
    const isUnknown = (status: number, body: object) =>
      isUnknownModel(status, Buffer.from(JSON.stringify(body)));
    expect(isUnknown(404, { error: { message, type: 'NotFoundError', code: 404 } })).to.equal(true);
    expect(isUnknown(404, { type: 'error', error: { type: 'not_found_error', message } })).to.equal(true);
    expect(isUnknown(400, { error: { message } })).to.equal(false);
    expect(isUnknown(404, { error: { message: "Response with id 'resp_1' not found." } })).to.equal(false);
    expect(isUnknown(404, { detail: 'Not Found' })).to.equal(false);
  });

  it('cuts long messages', () => {
    expect(read(500, 'x'.repeat(100_000)).message.length).to.be.below(3000);
  });

  const good: unknown[] = [
    { choices: [], object: 'chat.completion' },
    { object: 'list', data: [] },
    { choices: [{ message: { content: 'error' } }], error: null },
    'text',
    null,
  ];
  for (const value of good)
    it(`is not seen in ${JSON.stringify(value)}`, () => {
      expect(findEngineError(value)).to.equal(null);
    });
});
