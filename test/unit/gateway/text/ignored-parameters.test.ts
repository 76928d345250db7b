import { expect } from 'chai';
import { isReportAwaited, listIgnored } from '../../../../gateway/text/ignored-parameters.ts';
import { bodyOf } from '../../../support/body-of.ts';

const CHAT = '/v1/chat/completions';
const small = (value: object) => ({
  raw: Buffer.alloc(0),
  value: value as Record<string, unknown>,
  members: () => [],
});
const list = (body: object, { path = CHAT, tools = true as boolean | null, preset = 'llama-cpp' } = {}) =>
  listIgnored(small(body), path, { preset, takesTools: () => tools });
const formatOf = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
});
const toolOf = (parameters: object) => ({ type: 'function', function: { name: 'f', parameters } });

describe('parameters that llama.cpp ignores', () => {
  const schemas: [schema: object, keywords: string[]][] = [
    [{ type: 'string', pattern: '^[0-9]{3}$' }, []],
    [{ type: 'string', pattern: '[0-9]{3}' }, ['pattern']],
    [{ type: 'string', pattern: '^(?=a)a$' }, ['pattern']],
    [{ type: 'string', pattern: '^(?:a|b)$' }, []],
    [{ type: 'integer', minimum: 1, maximum: 5 }, []],
    [{ type: ['integer', 'null'], maximum: 5 }, []],
    [{ type: 'number', maximum: 5 }, ['maximum']],
    [{ type: ['integer', 'number'], maximum: 5 }, ['maximum']],
    [{ type: 'integer', multipleOf: 7 }, ['multipleOf']],
    [{ type: 'string', format: 'date-time' }, []],
    [{ type: ['string', 'null'], format: 'email' }, ['format']],
    [{ type: 'integer', format: 'int32' }, []],
    [{ type: 'string', minLength: 3, maxLength: 4 }, []],
    [{ not: { const: 'a' } }, ['not']],
    [{ type: 'array', items: { type: 'integer' }, minItems: 1, uniqueItems: true }, ['uniqueItems']],
    // A property of this name is none.
    [{ type: 'object', properties: { pattern: { type: 'string' }, not: { type: 'string' } } }, []],
    [{ enum: ['a'], description: 'multipleOf' }, []],
  ];
  for (const [schema, keywords] of schemas)
    it(`are ${keywords.join(', ') || 'none'} of ${JSON.stringify(schema)}`, () => {
      expect(list(formatOf(schema))).to.deep.equal(keywords.map((name) => `response_format.${name}`));
      expect(list({ tools: [toolOf(schema)] })).to.deep.equal(keywords.map((name) => `tools.${name}`));
    });

  it('are found wherever a schema has schemas', () => {
    const deep = { type: 'integer', multipleOf: 2 };
    for (const schema of [
      { properties: { a: deep } },
      { items: deep },
      { prefixItems: [{}, deep] },
      { anyOf: [{ type: 'null' }, deep] },
      { additionalProperties: deep },
      { $defs: { a: { allOf: [deep] } } },
    ])
      expect(list(formatOf(schema))).to.deep.equal(['response_format.multipleOf']);
  });

  it('are tools, and a choice among them, where the template has none', () => {
    const tools = [toolOf({ multipleOf: 2 })];
    expect(list({ tools, tool_choice: 'required' }, { tools: false })).to.deep.equal([
      'tools',
      'tool_choice',
    ]);
    expect(list({ tools, tool_choice: 'auto' }, { tools: false })).to.deep.equal(['tools']);
    expect(list({ tools: [] }, { tools: false })).to.deep.equal([]);
    expect(list({ tools: [toolOf({})], tool_choice: 'required' }, { tools: null })).to.deep.equal([]);
  });

  it('are unknown until the engine has reported, if there are tools', () => {
    const isAwaited = (body: object, tools: boolean | null, { path = CHAT, preset = 'llama-cpp' } = {}) =>
      isReportAwaited(body as Record<string, unknown>, path, { preset, takesTools: () => tools });
    const asked = { tools: [toolOf({})] };
    expect(isAwaited(asked, null)).to.equal(true);
    for (const tools of [true, false]) expect(isAwaited(asked, tools)).to.equal(false);
    for (const body of [{}, { tools: [] }, { tools: 1 }]) expect(isAwaited(body, null)).to.equal(false);
    expect(isAwaited(asked, null, { preset: 'custom' })).to.equal(false);
    expect(isAwaited(asked, null, { path: '/v1/completions' })).to.equal(false);
  });

  it('are those of the other APIs, each by its own schema', () => {
    const schema = { type: 'number', maximum: 1 };
    const named = { type: 'function', name: 'f', parameters: schema };
    expect(list({ tools: [named] }, { path: '/v1/responses' })).to.deep.equal(['tools.maximum']);
    const format = { type: 'json_schema', name: 'x', schema: {} };
    expect(list({ text: { format } }, { path: '/v1/responses' })).to.deep.equal(['text.format']);
    expect(list({ text: { format: { type: 'text' } } }, { path: '/v1/responses' })).to.deep.equal([]);
    const anthropic = { tools: [{ name: 'f', input_schema: schema }] };
    expect(list(anthropic, { path: '/v1/messages' })).to.deep.equal(['tools.maximum']);
  });

  it('are none that a request does not ask for', () => {
    const schema = { type: 'integer', multipleOf: 2 };
    const formatted = (type: string) => ({
      response_format: { type, schema, json_schema: { name: 'x', schema } },
    });
    expect(list(formatted('text'))).to.deep.equal([]);
    expect(list(formatted('json_object'))).to.deep.equal(['response_format.multipleOf']);
    const tools = [{ name: 'f', input_schema: {} }];
    for (const type of ['auto', 'none'])
      expect(list({ tools, tool_choice: { type } }, { path: '/v1/messages', tools: false })).to.deep.equal([
        'tools',
      ]);
    expect(list({ tools, tool_choice: { type: 'any' } }, { path: '/v1/messages', tools: false })).to.include(
      'tool_choice',
    );
    const hosted = { tools: [{ type: 'web_search' }], tool_choice: 'none' };
    expect(list(hosted, { path: '/v1/responses', tools: false })).to.deep.equal([]);
  });

  it('are not looked for in the requests of other engines, whose answer is never asked for', () => {
    const body = { ...formatOf({ multipleOf: 2 }), tools: [toolOf({})] };
    const unasked = () => expect.fail('asked');
    for (const preset of ['vllm', 'sglang', 'simulator', 'custom'])
      expect(listIgnored(small(body), CHAT, { preset, takesTools: unasked })).to.deep.equal([]);
    const asked = { preset: 'llama-cpp', takesTools: unasked };
    expect(listIgnored(small({ messages: [] }), CHAT, asked)).to.deep.equal([]);
  });

  it('are looked for in the first schemas only, whatever a client sends', () => {
    let reads = 0;
    const spy = () =>
      new Proxy<Record<string, unknown>>(
        { type: 'integer' },
        {
          get: (target, name) => {
            if (name === 'type') reads++;
            return Reflect.get(target, name);
          },
        },
      );
    const wide = Array.from({ length: 100_000 }, spy);
    expect(list(formatOf({ anyOf: wide, oneOf: wide, prefixItems: wide }))).to.deep.equal([]);
    expect(reads).to.be.within(100, 500);
    let chain: object = { type: 'integer', multipleOf: 2 };
    for (let depth = 0; depth < 100_000; depth++) chain = { items: chain };
    expect(list(formatOf(chain))).to.deep.equal([]);
  });

  it('are found at the end of a long chain, whose schemas are few', () => {
    let chain: object = { type: 'integer', multipleOf: 2 };
    for (let depth = 0; depth < 120; depth++) chain = { properties: { a: chain } };
    expect(list(formatOf(chain))).to.deep.equal(['response_format.multipleOf']);
  });

  it('are not looked for in a member that is large, whose names alone take long to list', () => {
    const engine = { preset: 'llama-cpp', takesTools: () => true };
    const listOf = (body: object) => listIgnored(bodyOf(JSON.stringify(body)), CHAT, engine);
    const large = { multipleOf: 2, description: 'x'.repeat(256 * 1024) };
    const tools = [toolOf({ multipleOf: 2 })];
    expect(listOf({ ...formatOf(large), tools })).to.deep.equal(['tools.multipleOf']);
    expect(listOf({ ...formatOf({ multipleOf: 2 }), tools: [toolOf(large)] })).to.deep.equal([
      'response_format.multipleOf',
    ]);
    const image = { messages: [{ role: 'user', content: 'x'.repeat(1024 * 1024) }], tools };
    expect(listOf(image)).to.deep.equal(['tools.multipleOf']);
  });

  it('survive members of any type', () => {
    for (const response_format of [null, 1, 'x', [], { json_schema: 1 }, { json_schema: { schema: [1] } }])
      expect(list({ response_format })).to.deep.equal([]);
    for (const tools of [null, 1, [null], [1], [{ function: 1 }], [{ function: { parameters: 'x' } }]])
      expect(list({ tools }, { tools: null })).to.deep.equal([]);
    expect(list(formatOf({ properties: [1], items: 'x', pattern: 1, format: {} }))).to.deep.equal([]);
  });
});
