import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { COUNT_TOKENS, MESSAGES } from '../../../../gateway/text/messages-route.ts';
import { RESPONSES } from '../../../../gateway/text/responses-route.ts';
import { readTextRequest, type TextRequest } from '../../../../gateway/text/text-request.ts';
import type { TextRoute } from '../../../../gateway/text/text-route.ts';
import { bodyOf } from '../../../support/body-of.ts';

const MODEL = { modelId: 'org/m', servedModelName: 'org/m', enginePreset: 'vllm' };

function read(value: object, route: TextRoute): TextRequest {
  return readTextRequest(bodyOf(JSON.stringify(value)), route, MODEL);
}
const payloadOf = (value: object, route: TextRoute) => JSON.parse(read(value, route).payload.toString());

function refusal(value: object, route: TextRoute): ApiError {
  try {
    read(value, route);
  } catch (error) {
    expect(error).to.be.instanceOf(ApiError);
    return error as ApiError;
  }
  throw new Error('it was taken');
}

describe('a request for a response', () => {
  const input = 'Hi';

  it('is never stored by the engine, and never asks for usage by stream_options', () => {
    expect(payloadOf({ input, stream: true }, RESPONSES)).to.deep.equal({
      input,
      stream: true,
      store: false,
      model: 'org/m',
    });
    expect(payloadOf({ input, store: false }, RESPONSES).store).to.equal(false);
  });

  it('is refused where it asks for no tokens, whose empty stream would look like one that was given up', () => {
    expect(refusal({ input, max_output_tokens: 0 }, RESPONSES).details.param).to.equal('max_output_tokens');
    expect(payloadOf({ input, max_output_tokens: 1 }, RESPONSES).max_output_tokens).to.equal(1);
    expect(read({ input, max_output_tokens: null }, RESPONSES).isStream).to.equal(false);
  });

  const stateful: [string, unknown][] = [
    ['store', true],
    ['background', true],
    ['previous_response_id', 'resp_1'],
    ['conversation', { id: 'conv_1' }],
    ['prompt', { id: 'pmpt_1' }],
  ];
  for (const [name, value] of stateful) {
    it(`is refused where it needs a store: ${name}`, () => {
      const error = refusal({ input, [name]: value }, RESPONSES);
      const isFlag = value === true;
      expect([error.status, error.code, error.details.param]).to.deep.equal([
        400,
        isFlag ? 'unsupported_value' : 'unsupported_parameter',
        name,
      ]);
      expect(error.message)
        .to.include('stores no responses')
        .and.to.match(isFlag ? /^Unsupported value: / : /^Unsupported parameter: /);
    });

    it(`is taken with ${name} null`, () => {
      expect(read({ input, [name]: null }, RESPONSES).isStream).to.equal(false);
    });
  }

  for (const type of [
    'web_search',
    'web_search_preview',
    'file_search',
    'code_interpreter',
    'mcp',
    'image_generation',
    'computer_use_preview',
    undefined,
  ])
    it(`is refused with a tool that runs on the server: ${type}`, () => {
      const error = refusal(
        {
          input,
          tools: [
            { type: 'function', name: 'f' },
            { type, server_url: 'http://10.0.0.1' },
          ],
        },
        RESPONSES,
      );
      expect([error.status, error.details.param]).to.deep.equal([400, 'tools[1].type']);
    });

  for (const [what, type, code] of [
    ['no type', undefined, 'missing_required_parameter'],
    ['a type of null', null, 'missing_required_parameter'],
    ['a type that is no text', 5, 'invalid_type'],
    ['an unknown type', 'x', 'unsupported_value'],
  ] as const)
    it(`is refused with a tool of ${what}`, () => {
      const error = refusal({ input, tools: [{ type }] }, RESPONSES);
      expect([error.code, error.details.param]).to.deep.equal([code, 'tools[0].type']);
      expect(error.message).not.to.match(/undefined|null/);
    });

  it('is taken with tools of the client', () => {
    const tools = [{ type: 'function', name: 'f' }, { type: 'custom', name: 'c' }, { type: 'local_shell' }];
    expect(payloadOf({ input, tools }, RESPONSES).tools).to.deep.equal(tools);
  });

  const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
  const places: [string, unknown, (string | number)[]][] = [
    [
      'a message',
      [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, image] }],
      ['input', 0, 'content', 1],
    ],
    [
      'the result of a function',
      [{ type: 'function_call_output', call_id: 'c', output: [image] }],
      ['input', 0, 'output', 0],
    ],
    [
      'a screenshot',
      [{ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: image.image_url } }],
      ['input', 0, 'output'],
    ],
  ];
  for (const [what, items, path] of places)
    it(`has the image fetched that ${what} names by URL`, () => {
      expect(read({ input: items }, RESPONSES).media).to.deep.equal([
        { kind: 'image', path: [...path, 'image_url'], url: image.image_url },
      ]);
    });

  it('takes inline images, which count as no text', () => {
    const url = `data:image/png;base64,${'A'.repeat(10_000)}`;
    const request = read(
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
      RESPONSES,
    );
    expect(request.media).to.deep.equal([]);
    expect(request.promptBytes).to.be.below(300);
  });

  it('has nothing fetched of what a tool was called with', () => {
    const action = { type: 'open_page', page: { file_url: 'https://example.com/a.pdf' } };
    expect(read({ input: [{ type: 'web_search_call', id: 'w', action }] }, RESPONSES).media).to.deep.equal(
      [],
    );
  });

  it('is refused with a file by URL, or by an id of a store', () => {
    const file = (part: object) => ({
      input: [{ role: 'user', content: [{ type: 'input_file', ...part }] }],
    });
    expect(refusal(file({ file_url: 'https://example.com/a.pdf' }), RESPONSES).message).to.include(
      'data: URL',
    );
    expect(refusal(file({ file_id: 'file-1' }), RESPONSES).message).to.include('stores no files');
  });

  it('wants an input', () => {
    expect(refusal({}, RESPONSES).details.param).to.equal('input');
    expect(refusal({ input: [] }, RESPONSES).details.param).to.equal('input');
  });
});

describe('a request for a message', () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const base = { messages, max_tokens: 5 };

  it('goes on as it is, with the model', () => {
    expect(payloadOf({ ...base, stream: true, thinking: { type: 'adaptive' } }, MESSAGES)).to.deep.equal({
      ...base,
      stream: true,
      thinking: { type: 'adaptive' },
      model: 'org/m',
    });
  });

  it('wants max_tokens, except to count', () => {
    expect(refusal({ messages }, MESSAGES).details.param).to.equal('max_tokens');
    expect(read({ messages }, COUNT_TOKENS).isStream).to.equal(false);
  });

  it('is for the deployment’s own model', () => {
    expect(refusal({ ...base, model: 'claude-sonnet-4-5' }, MESSAGES).code).to.equal('model_mismatch');
  });

  const source = { type: 'url', url: 'https://example.com/a.png' };
  const image = { type: 'image', source };
  const places: [string, object, (string | number)[]][] = [
    ['a message', { messages: [{ role: 'user', content: [image] }] }, ['messages', 0, 'content', 0]],
    [
      'the result of a tool',
      {
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image] }] }],
      },
      ['messages', 0, 'content', 0, 'content', 0],
    ],
    ['the system prompt', { messages, system: [image] }, ['system', 0]],
  ];
  for (const [what, body, path] of places)
    it(`has the image fetched that ${what} names by URL, counting or not`, () => {
      const media = [{ kind: 'image', path: [...path, 'source'], url: source.url, form: 'source' }];
      expect(read({ ...base, ...body }, MESSAGES).media).to.deep.equal(media);
      expect(read(body, COUNT_TOKENS).media).to.deep.equal(media);
    });

  it('takes inline images, which count as no text', () => {
    const inline = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10_000) },
    };
    const request = read({ ...base, messages: [{ role: 'user', content: [inline] }] }, MESSAGES);
    expect(request.media).to.deep.equal([]);
    expect(request.promptBytes).to.be.below(300);
  });

  it('has nothing fetched of what a tool was called with', () => {
    for (const input of [image, { type: 'document', source }, { source: { type: 'file' } }]) {
      const content = [{ type: 'tool_use', id: 't', name: 'show', input }];
      expect(read({ ...base, messages: [{ role: 'assistant', content }] }, MESSAGES).media).to.deep.equal([]);
    }
  });

  it('is refused with a document by URL, or a file of a store', () => {
    const block = (more: object) => ({
      ...base,
      messages: [{ role: 'user', content: [{ type: 'document', ...more }] }],
    });
    expect(
      refusal(block({ source: { type: 'url', url: 'https://example.com/a.pdf' } }), MESSAGES).message,
    ).to.include('only images are fetched');
    expect(refusal(block({ source: { type: 'file', file_id: 'f' } }), MESSAGES).message).to.include(
      'stores no files',
    );
  });

  it('is taken with the client’s tools, and refused with the server’s', () => {
    const tools = [
      { name: 'a', input_schema: { type: 'object' } },
      { type: 'bash_20250124', name: 'bash' },
    ];
    expect(payloadOf({ ...base, tools }, MESSAGES).tools).to.deep.equal(tools);
    for (const type of [
      'web_search_20250305',
      'web_fetch_20250910',
      'code_execution_20250825',
      'mcp_toolset',
    ])
      expect(refusal({ ...base, tools: [...tools, { type, name: 'x' }] }, MESSAGES).details.param).to.equal(
        'tools[2].type',
      );
    expect(
      refusal({ ...base, mcp_servers: [{ type: 'url', url: 'http://10.0.0.1' }] }, MESSAGES).details.param,
    ).to.equal('mcp_servers');
  });
});
