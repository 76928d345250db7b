/** Turns what was measured of the choice of replicas into the tables and goals of `make bench`. Pure. */
import { atLeast, atMost, formatRows, type Goal } from '../report.ts';
import type { PrefixFigures } from './prefix.ts';

const BERTH = 'berth';
const MAX_LOAD_OVER_MEAN = 1.25;

export const formatPrefix = (figures: PrefixFigures[]): string =>
  listNames(figures)
    .map((trace) => formatTrace(trace, ofTrace(figures, trace)))
    .join('\n\n');

function formatTrace(trace: string, figures: PrefixFigures[]): string {
  const rows = figures.map((figure) => [
    figure.chooser,
    (100 * figure.hitRate).toFixed(1),
    figure.firstTokenP50Ms.toFixed(0),
    figure.firstTokenP95Ms.toFixed(0),
    figure.requestsPerSecond.toFixed(1),
    figure.loadOverMean.toFixed(2),
    String(figure.errors),
  ]);
  return formatRows([
    [trace, 'hit rate %', 'TTFT p50 ms', 'p95 ms', 'requests/s', 'largest load ÷ mean', 'errors'],
    ...rows,
  ]);
}

/** Berth against the best of the others in each figure by itself. */
export const listPrefixGoals = (figures: PrefixFigures[]): Goal[] =>
  listNames(figures).flatMap((trace) => {
    const all = ofTrace(figures, trace);
    const berth = all.find(({ chooser }) => chooser === BERTH);
    const others = all.filter(({ chooser }) => !chooser.startsWith(BERTH));
    if (!berth || others.length === 0) return [];
    const most = (figure: 'hitRate' | 'requestsPerSecond') =>
      Math.max(...others.map((other) => other[figure]));
    const least = (figure: 'firstTokenP50Ms' | 'firstTokenP95Ms') =>
      Math.min(...others.map((other) => other[figure]));
    return [
      atLeast(`${trace}: hit rate ÷ best`, berth.hitRate / most('hitRate'), 1),
      atMost(`${trace}: TTFT p50 ÷ best`, berth.firstTokenP50Ms / least('firstTokenP50Ms'), 1),
      atMost(`${trace}: TTFT p95 ÷ best`, berth.firstTokenP95Ms / least('firstTokenP95Ms'), 1),
      atLeast(`${trace}: requests/s ÷ best`, berth.requestsPerSecond / most('requestsPerSecond'), 1),
      atMost(`${trace}: largest load ÷ mean`, berth.loadOverMean, MAX_LOAD_OVER_MEAN),
      atMost(`${trace}: errors`, berth.errors, 0),
    ];
  });

const listNames = (figures: PrefixFigures[]): string[] => [...new Set(figures.map(({ trace }) => trace))];

const ofTrace = (figures: PrefixFigures[], trace: string): PrefixFigures[] =>
  figures.filter((figure) => figure.trace === trace);
