import { expect } from 'chai';
import { LatencySketch } from '../../../kit/latency-sketch.ts';
import { addEarlierBucket, coarsenLatencies } from '../../../redis/usage/earlier-latency-buckets.ts';
import { seedRandom } from '../../support/random-seeds.ts';

const SHARES = [0.5, 0.95, 0.99];

const sketchOf = (values: readonly number[]): LatencySketch => {
  const sketch = new LatencySketch();
  for (const value of values) sketch.observe(value);
  return sketch;
};
/** By the nearest rank. */
const exactQuantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1]!;

describe('a sketch of latencies', () => {
  const random = seedRandom(7);
  const spreads: [string, () => number][] = [
    ['from 1 ms to 10 min, as often in each decade', () => 600_000 ** random()],
    ['around 1.3 ms', () => 1 + random() * 0.6],
    ['around 700 ms', () => 690 + random() * 20],
    [
      'of which one in ten is slow',
      () => (random() < 0.1 ? 60_000 + random() * 540_000 : 20 + random() * 30),
    ],
  ];
  for (const [name, draw] of spreads)
    it(`is right within 5 % for 1,000 values ${name}`, () => {
      const values = Array.from({ length: 1_000 }, draw);
      const sketch = sketchOf(values);
      for (const share of SHARES) {
        const exact = exactQuantile(values, share);
        expect(sketch.quantile(share), `p${share * 100}`).to.be.within(exact * 0.95, exact * 1.05);
      }
    });

  it('is never above the maximum', () => {
    for (const value of [0.3, 1, 1.001, 710, 599_999, 9_999_999]) {
      const sketch = sketchOf(Array.from({ length: 30 }, () => value));
      for (const share of [...SHARES, 1])
        expect(sketch.quantile(share)).to.be.at.most(Math.round(value * 100) / 100);
    }
  });

  it('shows times below a millisecond as none, and 1 ms as such', () => {
    expect(sketchOf(Array.from({ length: 30 }, (_, i) => (i < 25 ? 0 : 40))).quantile(0.5)).to.equal(0);
    expect(sketchOf(Array.from({ length: 30 }, () => 1)).quantile(0.5)).to.be.within(0.95, 1);
    const wrong = [Number.NaN, -5, Number.POSITIVE_INFINITY];
    expect(`${sketchOf(wrong)}`).to.match(/^\d+;0=2,248=1;0,0,\d+$/);
  });

  it('is the values themselves while there are fewer than 20', () => {
    const chats = [3_712, 18_004, 5_500, 9_001, 12_345, 7_777];
    const sketch = sketchOf(chats);
    expect(SHARES.map((share) => sketch.quantile(share))).to.deep.equal([7_777, 18_004, 18_004]);
    expect(sketchOf([13, 6]).quantile(0.5)).to.equal(6);
    expect(new LatencySketch().quantile(0.5)).to.equal(null);
  });

  it('is the same when it was written as text and merged', () => {
    for (const length of [7, 19, 20, 500]) {
      const values = Array.from({ length }, (_, i) => 1 + i * 37.5);
      const merged = new LatencySketch();
      merged.merge(`${sketchOf(values.slice(0, 5))}`);
      merged.merge(`${sketchOf(values.slice(5))}`);
      const added = sketchOf(values.slice(0, 5));
      added.add(sketchOf(values.slice(5)));
      for (const sketch of [merged, added])
        for (const share of SHARES) expect(sketch.quantile(share)).to.equal(sketchOf(values).quantile(share));
    }
  });

  it('begins anew when it is cleared', () => {
    const sketch = sketchOf([9_000, 8_000, 7_000]);
    sketch.clear();
    expect(`${sketch}`).to.equal('0;;');
    sketch.observe(5);
    expect(`${sketch}`).to.equal(`${sketchOf([5])}`);
  });

  it('holds no more values than it counted, whatever a workspace wrote', () => {
    const sketch = new LatencySketch();
    const many = Array(2_000).fill(1).join(',');
    for (let i = 0; i < 100; i++)
      for (const counts of ['', '1=1', '1=0']) sketch.merge(`5000;${counts};${many}`);
    sketch.clear();
    sketch.merge(`5000;;${many}`);
    expect(`${sketch}`).to.equal('5000;;');
    sketch.merge('5000;30=2;5000,4000');
    expect(`${sketch}`).to.equal('5000;30=2;5000,4000');
  });

  it('ignores what is not the text of a sketch', () => {
    const sketch = new LatencySketch();
    for (const text of ['', '5', 'a;b;c', '1;2=x;', '5000;9999=1;', '5000;249=1;', '1;1=1e9;', '1;5,7;'])
      sketch.merge(text);
    expect(sketch.isEmpty).to.equal(true);
  });

  it('spreads the counts of earlier buckets evenly', () => {
    const sketch = new LatencySketch();
    addEarlierBucket(sketch, 1, 100);
    expect(sketch.quantile(0.5)).to.be.within(75 * 0.95, 75 * 1.05);
    expect(sketch.quantile(1)).to.equal(100);
    addEarlierBucket(sketch, 13, 900);
    expect(sketch.quantile(0.95)).to.equal(1_800_000);
  });

  it('is counted in earlier buckets for functions of an earlier version', () => {
    const sketches = [
      ['7:w', `${sketchOf([3, 20, 90, 700, 3_000_000])}`],
      ['7:f', `${sketchOf([20])}`],
      ['7:g', `${sketchOf([20])}`],
    ] as const;
    expect(coarsenLatencies({ key: 'k', keepSeconds: 10, counts: [['7:r', 5]], sketches })).to.deep.equal({
      key: 'k',
      keepSeconds: 10,
      counts: [
        ['7:r', 5],
        ['7:b0', 2],
        ['7:b1', 1],
        ['7:b5', 1],
        ['7:b13', 1],
        ['7:t0', 1],
      ],
    });
  });
});
