import { expect } from 'chai';
import { checkRules, compileRules } from '../../../../kube/memory/cel-rules.ts';
import type { Schema } from '../../../../kube/memory/schema.ts';

const rule = (text: string, more: object = {}) => ({
  'x-kubernetes-validations': [{ rule: text, message: 'not so', ...more }],
});
const object = (properties: Record<string, Schema>, more: object = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
const TEXT: Schema = { type: 'string' };
const INTEGER: Schema = { type: 'integer' };

function check(spec: Schema, value: unknown, before?: unknown): string[] {
  const tree = compileRules(object({ spec }), 'Ship')!;
  const wrap = (inner: unknown) => ({ metadata: { name: 'ship' }, spec: inner });
  return checkRules(tree, wrap(value), before === undefined ? undefined : wrap(before)).map(
    ({ field, message }) => `${field}: ${message}`,
  );
}

describe('rules of a definition', () => {
  it('read integers, fractions, times, lists, maps and objects by the types of their schema', () => {
    const spec = object(
      {
        crew: INTEGER,
        speed: { type: 'number' },
        left: { type: 'string', format: 'date-time' },
        ports: { type: 'array', items: object({ name: TEXT }) },
        cargo: { type: 'object', additionalProperties: INTEGER },
        room: { 'x-kubernetes-int-or-string': true },
      },
      rule(
        "self.crew / 2 == 1 && self.speed / 2.0 == 1.5 && self.left.getFullYear() == 2026 && self.ports.exists(p, p.name == 'a') " +
          "&& self.cargo['tea'] == 7 && type(self.room) == int",
      ),
    );
    const ship = {
      crew: 3,
      speed: 3,
      left: '2026-01-02T03:04:05Z',
      ports: [{ name: 'b' }, { name: 'a' }],
      cargo: { tea: 7 },
    };
    expect(check(spec, { ...ship, room: 4 })).to.deep.equal([]);
    expect(check(spec, { ...ship, room: '4' })).to.deep.equal(['spec: Invalid value: not so']);
  });

  it('are checked for each item of a list and each value of a map, with its path', () => {
    const even = { ...INTEGER, ...rule('self % 2 == 0') };
    const spec = object({
      list: { type: 'array', items: even },
      map: { type: 'object', additionalProperties: even },
    });
    expect(check(spec, { list: [2, 3], map: { a: 5 } })).to.deep.equal([
      'spec.list[1]: Invalid value: 3: not so',
      'spec.map[a]: Invalid value: 5: not so',
    ]);
  });

  it('about a change need an old value: of the same key in a list that has keys, and never in another list', () => {
    const items = object({ name: TEXT, size: { ...INTEGER, ...rule('self >= oldSelf') } });
    const list = { type: 'array', items };
    const keyed = { ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
    const spec = object({ list, keyed });
    const [before, after] = [
      [
        { name: 'a', size: 1 },
        { name: 'b', size: 5 },
      ],
      [
        { name: 'b', size: 4 },
        { name: 'c', size: 0 },
      ],
    ];
    expect(check(spec, { list: after, keyed: after }, { list: before, keyed: before })).to.deep.equal([
      'spec.keyed[0].size: Invalid value: 4: not so',
    ]);
  });

  it('with an optional old value apply to new values as well', () => {
    const spec = { ...INTEGER, ...rule('oldSelf.hasValue() || self < 10', { optionalOldSelf: true }) };
    expect(check(spec, 11)).to.deep.equal(['spec: Invalid value: 11: not so']);
    expect(check(spec, 11, 12)).to.deep.equal([]);
  });

  it('hold up no writer of what was so before', () => {
    const spec = object({ size: { ...INTEGER, ...rule('self < 10') }, name: TEXT });
    expect(check(spec, { size: 11, name: 'new' }, { size: 11, name: 'old' })).to.deep.equal([]);
    expect(check(spec, { size: 12 }, { size: 11 })).to.have.length(1);
  });

  it('that fail refuse the object, and say why', () => {
    const spec = object({ size: INTEGER, none: INTEGER }, rule('self.size / self.none > 1'));
    expect(check(spec, { size: 1, none: 0 })).to.deep.equal([
      'spec: Invalid value: "object": division by zero evaluating rule: not so',
    ]);
    expect(check(spec, { size: 1 })).to.deep.equal([
      'spec: Invalid value: "object": no such key: none evaluating rule: not so',
    ]);
  });

  it('have a message, or an expression of one, or are shown themselves', () => {
    const explain = (more: object) =>
      check({ ...INTEGER, ...rule('self < 10', more) }, 11)[0]
        ?.split(': ')
        .at(-1);
    expect(explain({ messageExpression: "'at most ten, not ' + string(self)" })).to.equal(
      'at most ten, not 11',
    );
    expect(explain({ messageExpression: 'string(self / 0)' })).to.equal('not so');
    expect(explain({ message: undefined })).to.equal('self < 10');
  });

  for (const [what, text] of [
    ['an unknown function', 'self.size.shout()'],
    ['an unknown field', 'self.weight > 1'],
    ['the wrong type', "self.size == 'big'"],
    ['another result than true or false', 'self.size + 1'],
    ['wrong syntax', 'self.size >'],
  ] as const)
    it(`with ${what} are compiled for nobody`, () => {
      const schema = object({ spec: object({ size: INTEGER }, rule(text)) });
      expect(() => compileRules(schema, 'Ship')).to.throw(`Ship.spec: the rule "${text}" cannot run`);
    });

  for (const [text, value] of [
    ["quantity('1.5Gi').compareTo(quantity('1536Mi')) == 0", true],
    ["quantity('50k').add(quantity('20')).asInteger() == 50020", true],
    ["quantity('0.5m').isInteger() || isQuantity('200K')", false],
    ["quantity('1e3') == quantity('1k') && quantity('-1').sign() == -1", true],
    ["'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''", true],
    ["'1 22 3'.findAll('[0-9]+', 2) == ['1', '22']", true],
    ['[1, 2, 2].isSorted() && [1, 3].sum() == 4 && [3, 1].min() == 1 && [1, 2, 2].lastIndexOf(2) == 2', true],
  ] as const)
    it(`have Kubernetes' functions: ${text}`, () => {
      expect(check({ ...INTEGER, ...rule(text) }, 1)).to.deep.equal(
        value ? [] : ['spec: Invalid value: 1: not so'],
      );
    });
});
