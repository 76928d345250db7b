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
    for (const store of [true, false, null])
      expect(payloadOf({ input, store }, RESPONSES).store).to.equal(false);
  });

  it('is refused where it asks for no tokens, whose empty stream would look like one that was given up', () => {
    expect(refusal({ input, max_output_tokens: 0 }, RESPONSES).details.param).to.equal('max_output_tokens');
    expect(payloadOf({ input, max_output_tokens: 1 }, RESPONSES).max_output_tokens).to.equal(1);
    expect(read({ input, max_output_tokens: null }, RESPONSES).isStream).to.equal(false);
  });

  const stateful: [string, unknown][] = [
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

  for (const item of [{ type: 'item_reference', id: 'msg_1' }, { type: null, id: 'msg_1' }, { id: 'msg_1' }])
    it(`is refused where it refers to a stored item: ${JSON.stringify(item)}`, () => {
      const error = refusal({ input: [{ role: 'user', content: 'Hi' }, item] }, RESPONSES);
      expect([error.status, error.code, error.details.param]).to.deep.equal([
        400,
        'unsupported_value',
        'input[1]',
      ]);
      expect(error.message).to.include('stores no responses').and.to.include('`store: false`');
    });

  it('is taken with items that have ids of their own', () => {
    const items = [
      { role: 'user', content: 'Hi', id: 'a' },
      { type: 'reasoning', id: 'b', summary: [] },
      { type: 'function_call', id: 'c', call_id: 'd', name: 'f', arguments: '{}' },
    ];
    expect(payloadOf({ input: items }, RESPONSES).input).to.deep.equal(items);
  });

  describe('with tools that only a server could run', () => {
    const own = { type: 'function', name: 'f', parameters: { maximum: 1 } };
    const HOSTED = [
      'web_search',
      'web_search_preview_2025_03_11',
      'file_search',
      'code_interpreter',
      'mcp',
      'image_generation',
      'computer_use_preview',
      'tool_search',
      'not_known_yet',
    ];
    for (const type of HOSTED) {
      it(`goes to the engine without them: ${type}`, () => {
        const tools = [{ type, a: ['}'] }, own, { type, execution: 'server' }];
        const request = read({ input, tools, tool_choice: 'required' }, RESPONSES);
        expect(JSON.parse(request.payload.toString())).to.deep.include({
          tools: [own],
          tool_choice: 'required',
        });
        expect(request.omittedTools).to.deep.equal([type]);
      });

      it(`is refused where it offers nothing else, or chooses one: ${type}`, () => {
        const alone = refusal({ input, tools: [{ type }] }, RESPONSES);
        expect([alone.status, alone.code, alone.details.param]).to.deep.equal([
          400,
          'unsupported_value',
          'tools[0].type',
        ]);
        const chosen = refusal({ input, tools: [own, { type }], tool_choice: { type } }, RESPONSES);
        expect([chosen.status, chosen.code, chosen.details.param]).to.deep.equal([
          400,
          'unsupported_value',
          'tool_choice',
        ]);
      });
    }

    it('is taken with nothing else where no tool may be called', () => {
      const tools = [{ type: 'web_search' }];
      expect(payloadOf({ input, tools, tool_choice: 'none' }, RESPONSES).tools).to.deep.equal([]);
    });

    it('chooses among the others only', () => {
      const tools = [own, { type: 'web_search' }];
      const choose = (...allowed: object[]) => ({
        input,
        tools,
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: allowed },
      });
      const both = payloadOf(choose({ type: 'web_search' }, { type: 'function', name: 'f' }), RESPONSES);
      expect(both.tool_choice).to.deep.equal({
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'f' }],
      });
      expect(refusal(choose({ type: 'web_search' }), RESPONSES).details.param).to.equal('tool_choice.tools');
    });

    it('keeps the text of the others, whose numbers JavaScript would round', () => {
      const text = '{"input":"Hi","tools":[{"type":"mcp"}, {"type":"function","n":9007199254740993.0}]}';
      const { payload } = readTextRequest(bodyOf(text), RESPONSES, MODEL);
      expect(payload.toString()).to.include('"tools":[{"type":"function","n":9007199254740993.0}]');
    });

    it('is refused where its tools are too long to be edited', () => {
      const tools = [{ type: 'web_search' }, { ...own, description: 'x'.repeat(1024 * 1024) }];
      expect(refusal({ input, tools }, RESPONSES).details.param).to.equal('tools');
      expect(payloadOf({ input, tools: tools.slice(1) }, RESPONSES).tools).to.have.length(1);
    });
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
    const tools = [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'c' },
      { type: 'local_shell' },
      { type: 'tool_search', execution: 'client' },
    ];
    const request = read({ input, tools }, RESPONSES);
    expect(JSON.parse(request.payload.toString()).tools).to.deep.equal(tools);
    expect(request.omittedTools).to.deep.equal([]);
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
