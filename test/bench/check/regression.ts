/** Whether Berth has become slower than when it was recorded, by ratios to the floor. Pure. */
import { formatRows } from '../report.ts';
import { median } from '../statistics.ts';
import type { ShortRound, ShortRun } from './short-run.ts';

const FIGURES = {
  cpuPerRequest: 'CPU per request ÷ floor',
  cpuPerFrame: 'CPU per frame ÷ floor',
  addedLatency: 'added latency p50 ÷ floor',
  idleMiB: 'memory idle, MiB',
  promotedKB: 'promoted per request, KB',
  markCompacts: 'full collections per 10,000',
} as const;
type Figure = keyof typeof FIGURES;

/** Lower is better; NaN if it could not be measured. */
export type Figures = Record<Figure, number> & { errors: number };

export interface Recorded {
  median: number;
  /** Deviations from the median up to this fraction are noise. */
  band: number;
}

export interface Baseline {
  /** Date of the recording, such as `2026-11-24`. */
  date: string;
  machine: string;
  repeats: number;
  figures: Record<Figure, Recorded>;
}

export type Verdict = 'ok' | 'worse' | 'better: record again' | 'not measured';

const MIN_BAND = 0.1;
/** Few repeats seldom include the worst noise. */
const NOISE_MARGIN = 2;
/** For busy machines and others than the recorded one, where the added latency of the floor is lost in noise. */
const WIDE_BANDS: Record<Figure, number> = {
  cpuPerRequest: 1,
  cpuPerFrame: 1,
  addedLatency: 4,
  idleMiB: 1,
  // Requests that take longer live through more collections: from 0.4 to 3.4 KB between two runs of one build.
  promotedKB: 6,
  markCompacts: 1,
};
/** Figures that may be zero: what is below is no difference. */
const SMALLEST: Partial<Record<Figure, number>> = { promotedKB: 0.3, markCompacts: 1 };
/** Recorded on a busy machine: smaller changes cannot be detected. */
const POOR_BAND = 0.3;

const RECORD = 'RECORD=1 make bench-check';

const listFigures = (): Figure[] => Object.keys(FIGURES) as Figure[];
const mapFigures = <T>(work: (figure: Figure) => T): Record<Figure, T> =>
  Object.fromEntries(listFigures().map((figure) => [figure, work(figure)])) as Record<Figure, T>;

/** The medians of the rounds, each of which is Berth beside the floor within seconds. */
export function readFigures({ idleMiB, collections, rounds }: ShortRun): Figures {
  const over = (ratio: (round: ShortRound) => number) => median(rounds.map(ratio));
  const added = (system: 'floor' | 'berth') => over((round) => round[system].singleP50Ms - round.directP50Ms);
  const floorAdded = added('floor');
  return {
    cpuPerRequest: over(({ berth, floor }) => berth.cpuPerRequestMicros / floor.cpuPerRequestMicros),
    cpuPerFrame: over(({ berth, floor }) => berth.cpuPerFrameMicros / floor.cpuPerFrameMicros),
    // Other load on a busy machine may hide what the floor adds.
    addedLatency: floorAdded > 0 ? added('berth') / floorAdded : Number.NaN,
    idleMiB,
    promotedKB: collections.promotedKBPerRequest,
    markCompacts: collections.markCompactsPer10000,
    errors: rounds.reduce((sum, { berth }) => sum + berth.errors, 0),
  };
}

/** The better figures of two measurements. */
export const takeBetter = (first: Figures, second: Figures): Figures => {
  const better = (one: number, other: number) => (Number.isNaN(one) || other < one ? other : one);
  return {
    ...mapFigures((figure) => better(first[figure], second[figure])),
    errors: Math.min(first.errors, second.errors),
  };
};

/** The band is twice the largest deviation from the median, and at least 10 %. */
export function buildBaseline(
  measurements: Figures[],
  { date, machine }: Pick<Baseline, 'date' | 'machine'>,
): Baseline {
  const record = (figure: Figure): Recorded => {
    const values = measurements.map((each) => each[figure]);
    if (values.some(Number.isNaN))
      throw new Error(`${FIGURES[figure]} could not be measured: the machine is too busy`);
    const middle = median(values);
    const scale = Math.max(middle, SMALLEST[figure] ?? 0);
    const deviation = Math.max(...values.map((value) => Math.abs(value - middle))) / scale;
    return { median: round(middle), band: round(Math.max(MIN_BAND, NOISE_MARGIN * deviation)) };
  };
  if (measurements.some(({ errors }) => errors > 0)) throw new Error('requests failed: nothing is recorded');
  return { date, machine, repeats: measurements.length, figures: mapFigures(record) };
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** The same medians, with bands that hold on other machines. */
export const widen = (baseline: Baseline): Baseline => ({
  ...baseline,
  figures: mapFigures((figure) => {
    const recorded = baseline.figures[figure];
    return { ...recorded, band: Math.max(WIDE_BANDS[figure], recorded.band) };
  }),
});

const highest = ({ median, band }: Recorded, smallest = 0): number => Math.max(median * (1 + band), smallest);

/** A ratio, so that the band is as far below the median as above: twice as fast is half the figure. */
export function evaluate(value: number, recorded: Recorded, smallest = 0): Verdict {
  if (Number.isNaN(value)) return 'not measured';
  if (value > highest(recorded, smallest)) return 'worse';
  return Math.max(value, smallest) < recorded.median / (1 + recorded.band) ? 'better: record again' : 'ok';
}

const judge = (figure: Figure, figures: Figures, baseline: Baseline): Verdict =>
  evaluate(figures[figure], baseline.figures[figure], SMALLEST[figure]);

export const isWorse = (figures: Figures, baseline: Baseline): boolean =>
  figures.errors > 0 || listFigures().some((figure) => judge(figure, figures, baseline) === 'worse');

export function formatCheck(figures: Figures, baseline: Baseline): string {
  const rows = listFigures().map((figure) => {
    const recorded = baseline.figures[figure];
    return [
      FIGURES[figure],
      figures[figure].toFixed(2),
      recorded.median.toFixed(2),
      `≤ ${highest(recorded, SMALLEST[figure]).toFixed(2)}`,
      judge(figure, figures, baseline),
    ];
  });
  return [
    formatRows([['Berth', 'measured', 'recorded', 'allowed', ''], ...rows]),
    ...explain(figures, baseline),
  ].join('\n');
}

/** Advice for each figure beyond its band. */
function explain(figures: Figures, baseline: Baseline): string[] {
  const lines = listFigures().flatMap((figure) => {
    const verdict = judge(figure, figures, baseline);
    const change = describeChange(figure, figures[figure], baseline);
    if (verdict === 'worse') return [`${change}. If it has to be: ${RECORD}`];
    if (verdict === 'better: record again')
      return [`${change}. So that it stays, on the recorded machine: ${RECORD}`];
    return [];
  });
  return figures.errors > 0 ? [`${figures.errors} requests to Berth failed`, ...lines] : lines;
}

function describeChange(figure: Figure, value: number, { date, machine, figures }: Baseline): string {
  const { median, band } = figures[figure];
  const share = median > 0 ? `${formatShare(Math.abs(value / median - 1))} ` : '';
  const direction = value > median ? 'above' : 'below';
  return (
    `${FIGURES[figure]} is ${value.toFixed(2)}, ${share}${direction} the ${median.toFixed(2)} ` +
    `recorded on ${date} (${machine}; noise: ${formatShare(band)})`
  );
}

const formatShare = (share: number): string => `${Math.round(share * 100)} %`;

/** The recorded figures, and whether they are usable. */
export function formatBaseline({ figures, repeats, machine }: Baseline): string {
  const rows = listFigures().map((figure) => {
    const { median, band } = figures[figure];
    return [FIGURES[figure], median.toFixed(2), formatShare(band)];
  });
  const poor = listFigures().filter((figure) => figures[figure].band > POOR_BAND);
  const table = formatRows([[`${repeats} repeats, ${machine}`, 'median', 'band'], ...rows]);
  return poor.length === 0
    ? table
    : `${table}\nBands of more than ${formatShare(POOR_BAND)} see little: record on a quiet machine.`;
}
