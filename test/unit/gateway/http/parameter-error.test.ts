import { expect } from 'chai';
import { classifyMismatch } from '../../../../gateway/http/parameter-error.ts';

describe('the code of a value that a schema does not allow', () => {
  const count = { type: 'integer', minimum: 1, maximum: 10 };
  const speed = { type: 'number', minimum: 0.25, maximum: 4 };
  const texts = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 };
  const cases: [unknown, object, string][] = [
    ['1', count, 'invalid_type'],
    [1.5, count, 'invalid_type'],
    [0, count, 'integer_below_min_value'],
    [11, count, 'integer_above_max_value'],
    [0.1, speed, 'decimal_below_min_value'],
    [5, speed, 'decimal_above_max_value'],
    [[], texts, 'empty_array'],
    [['a', 'b', 'c'], texts, 'array_above_max_length'],
    [[1], texts, 'invalid_type'],
    [{}, texts, 'invalid_type'],
    ['  ', { type: 'string', minLength: 1 }, 'empty_string'],
    ['x', { enum: ['a', 'b'] }, 'invalid_value'],
    [1, { enum: ['a', 'b'] }, 'invalid_type'],
    [[], { anyOf: [{ type: 'string' }, texts] }, 'empty_array'],
    [true, { anyOf: [{ type: 'string' }, texts] }, 'invalid_type'],
    [[], { type: 'object' }, 'invalid_type'],
  ];
  for (const [value, schema, code] of cases)
    it(`is ${code} for ${JSON.stringify(value)} of ${JSON.stringify(schema)}`, () => {
      expect(classifyMismatch(schema, value)).to.equal(code);
    });
});
