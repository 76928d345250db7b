import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { generateValue } from '../../../simulator/json-schema.ts';
import { createRandom } from '../../../simulator/random.ts';

const SEEDS = 50;

describe('values generated from a JSON Schema', () => {
  const ajv = new Ajv2020({ strict: false });

  const schemas: [why: string, schema: object | boolean][] = [
    ['an empty object', { type: 'object' }],
    ['anything', true],
    [
      'properties, required and optional',
      {
        type: 'object',
        properties: {
          name: { type: 'string' },
          age: { type: 'integer' },
          ok: { type: 'boolean' },
          none: { type: 'null' },
        },
        required: ['name', 'age'],
        additionalProperties: false,
      },
    ],
    ['a required property without a schema', { type: 'object', required: ['x'] }],
    ['least properties', { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } }],
    [
      'a property called __proto__',
      JSON.parse('{"type":"object","properties":{"__proto__":{"const":1}},"required":["__proto__"]}'),
    ],
    ['an enumeration', { enum: ['a', 1, null, { b: 2 }] }],
    ['a constant', { const: { a: [1] } }],
    ['bounds of an integer', { type: 'integer', minimum: 3, maximum: 5 }],
    ['exclusive bounds', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 }],
    ['a lower bound alone', { type: 'number', minimum: 1000.5 }],
    ['an upper bound alone', { type: 'integer', maximum: -7 }],
    ['narrow bounds', { type: 'number', minimum: 0.001, maximum: 0.002 }],
    ['multiples', { type: 'integer', multipleOf: 5, minimum: 11 }],
    ['string lengths', { type: 'string', minLength: 30, maxLength: 31 }],
    ['a short string', { type: 'string', maxLength: 3 }],
    ['list lengths', { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 6 }],
    ['an empty list', { type: 'array', items: { type: 'number' }, maxItems: 0 }],
    ['no item twice', { type: 'array', items: { enum: [1, 2, 3] }, minItems: 3, uniqueItems: true }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
    ],
    ['several types', { type: ['null', 'integer'] }],
    [
      'anyOf',
      {
        anyOf: [
          { type: 'string' },
          { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
        ],
      },
    ],
    [
      'oneOf beside properties',
      {
        type: 'object',
        properties: { kind: { type: 'string' } },
        required: ['kind'],
        oneOf: [{ properties: { kind: { const: 'a' } } }, { properties: { kind: { const: 'b' } } }],
      },
    ],
    [
      'allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
          { properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
    ],
    [
      'references',
      {
        $defs: { point: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] } },
        type: 'array',
        items: { $ref: '#/$defs/point' },
        minItems: 2,
      },
    ],
    [
      'a recursive tree',
      {
        $defs: {
          node: {
            type: 'object',
            properties: {
              value: { type: 'integer' },
              children: { type: 'array', items: { $ref: '#/$defs/node' } },
            },
            required: ['value', 'children'],
          },
        },
        $ref: '#/$defs/node',
      },
    ],
    [
      'a recursive list by anyOf',
      {
        $defs: {
          link: {
            type: 'object',
            properties: { next: { anyOf: [{ $ref: '#/$defs/link' }, { type: 'null' }] } },
            required: ['next'],
          },
        },
        $ref: '#/$defs/link',
      },
    ],
  ];
  for (const [why, schema] of schemas)
    it(`satisfy ${why}`, () => {
      const validate = ajv.compile(schema);
      for (let seed = 0; seed < SEEDS; seed++) {
        const value = JSON.parse(JSON.stringify(generateValue(schema, createRandom(seed))));
        expect(validate(value), `${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`).to.equal(
          true,
        );
      }
    });

  const formats: [format: string, pattern: RegExp][] = [
    ['date', /^\d{4}-\d\d-\d\d$/],
    ['date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
    ['email', /^\w+@example\.com$/],
    ['uri', /^https:\/\/example\.com\//],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/],
  ];
  for (const [format, pattern] of formats)
    it(`have the format ${format}`, () => {
      expect(generateValue({ type: 'string', format }, createRandom(1))).to.match(pattern);
    });

  it('are the same for the same chance', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } };
    expect(generateValue(schema, createRandom(9))).to.deep.equal(generateValue(schema, createRandom(9)));
  });

  const hostile: [why: string, schema: unknown][] = [
    ['an unknown type', { type: 'banana' }],
    ['no schema', 5],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
    ['a reference to itself', { $ref: '#' }],
    ['a requirement of itself', { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
    ['allOf of itself', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['a list without end', { type: 'array', items: {}, minItems: 1e9 }],
    ['a string without end', { type: 'string', minLength: 1e9 }],
    ['properties without end', { type: 'object', minProperties: 1e9 }],
    ['bounds that leave nothing', { type: 'integer', minimum: 5, maximum: 4 }],
    ['lists of lists of lists', nest(12, { type: 'array', minItems: 100 })],
  ];
  for (const [why, schema] of hostile)
    it(`are refused for ${why}`, () => {
      expect(() => generateValue(schema, createRandom(1))).to.throw(/JSON schema/);
    });
});

function nest(levels: number, layer: object): object {
  return levels === 0 ? {} : { ...layer, items: nest(levels - 1, layer) };
}
