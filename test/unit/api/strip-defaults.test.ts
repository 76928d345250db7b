import { expect } from 'chai';
import { z } from 'zod';
import { stripDefaults } from '../../../api/strip-defaults.ts';

const before = z.object({
  a: z.string().default('x'),
  inner: z.object({ b: z.int().default(1), list: z.array(z.string()).default([]) }).prefault({}),
});
/** The next version of the same schema. */
const after = z.object({
  a: z.string().default('x'),
  added: z.boolean().default(true),
  inner: z
    .object({
      b: z.int().default(1),
      list: z.array(z.string()).default([]),
      more: z.object({ c: z.string().default('y') }).prefault({}),
    })
    .prefault({}),
  optional: z.object({ d: z.int().default(2) }).optional(),
});

describe('a spec without what its schema fills in', () => {
  const cases: [string, object, unknown][] = [
    ['nothing', {}, {}],
    ['a value of its own', { a: 'z' }, { a: 'z' }],
    ['a default, written out', { a: 'x', inner: { b: 1 } }, {}],
    ['a value deep inside', { inner: { b: 2 } }, { inner: { b: 2 } }],
    ['a list', { inner: { list: ['l'] } }, { inner: { list: ['l'] } }],
  ];
  for (const [name, written, expected] of cases)
    it(`is the same in the version that adds fields: ${name}`, () => {
      expect(stripDefaults(before, before.parse(written))).to.deep.equal(expected);
      expect(stripDefaults(after, after.parse(written))).to.deep.equal(expected);
    });

  it('distinguishes an optional part that is present from one that is not', () => {
    expect(stripDefaults(after, after.parse({ optional: {} }))).to.deep.equal({ optional: {} });
  });
});
