import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { measureCost } from '../../../kube/object-cost.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** As JSON.parse makes it, which nests without recursion. */
const nest = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

const list = <T>(make: (i: number) => T): T[] => Array.from({ length: 1_000 }, (_, i) => make(i));
/** Contents by which tenants might use more memory than is counted; `id` makes each object different. */
const SHAPES: Record<string, (id: number) => unknown> = {
  'long text': (id) => 'x'.repeat(50_000) + id,
  'long text with a character beyond Latin-1': (id) => `${'x'.repeat(50_000)}€${id}`,
  'short texts': (id) => list((i) => `${id}-${i}`),
  'fractions among texts': (id) => ['x', ...list((i) => id + i / 7)],
  'empty objects': () => list(() => ({})),
  'empty lists': () => list(() => []),
  'names of their own': (id) => Object.fromEntries(list((i) => [`k${id}-${i}`, 1])),
  'objects with a name of their own each': (id) => list((i) => ({ [`k${id}-${i}`]: 1 })),
  'objects with two names of their own each': (id) =>
    list((i) => ({ [`k${id}-${i}`]: 1, [`l${id}-${i}`]: 1 })),
};

function measureHeap(texts: Buffer[]): { heap: number; counted: number } {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const objects = texts.map((text) => JSON.parse(text.toString()));
  collectGarbage();
  const heap = process.memoryUsage().heapUsed - before;
  return { heap, counted: objects.reduce((sum, object) => sum + measureCost(object, 10_000_000), 0) };
}

describe('the cost of an object', function () {
  this.timeout(60_000);

  it('is finite up to 100 levels within the object', () => {
    expect(measureCost(nest(101), 1_000_000)).to.be.below(1_000_000);
    expect(measureCost(nest(102), 1_000_000)).to.equal(Number.POSITIVE_INFINITY);
  });

  it('counts texts and the names of members, and is infinite beyond the limit', () => {
    for (const value of ['x'.repeat(1_000), { ['x'.repeat(1_000)]: 1 }, Array(100).fill(1)]) {
      const cost = measureCost(value, 10_000);
      expect(cost).to.be.within(1_000, 5_000);
      expect(measureCost(value, cost)).to.equal(cost);
      expect(measureCost(value, cost - 1)).to.equal(Number.POSITIVE_INFINITY);
    }
  });

  for (const [what, make] of Object.entries(SHAPES))
    it(`is no less than the heap that ${what} take`, () => {
      const write = (id: number) => Buffer.from(JSON.stringify({ value: make(id) }));
      measureHeap([write(1_000)]);
      const { heap, counted } = measureHeap(Array.from({ length: 30 }, (_, id) => write(id)));
      expect(counted / heap).to.be.within(0.9, 4);
    });
});
