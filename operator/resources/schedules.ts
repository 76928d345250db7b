/** Bounds that change by the clock: each schedule holds from a time that its cron expression names until another one's. */
import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import type { ModelScaling } from '../../api/model-scaling.ts';

export type Schedule = ModelScaling['schedules'][number];

/** Beside names, `L` in JUL and `W` in WED: what one dialect of cron has, and takes up to seconds to look up. */
const DIALECT = /[#+]|(?<!ju)l|w(?!ed)/i;
const MAX_VERDICTS = 2_000;
/** By expression and time zone: evaluated once, since that costs milliseconds. */
const verdicts = new LRUCache<string, { error: string | undefined }>({ max: MAX_VERDICTS });

/** Why a schedule can never be followed; undefined where it can. */
export function findScheduleError(schedule: Schedule): string | undefined {
  const key = `${schedule.cron} ${schedule.timezone}`;
  const known = verdicts.get(key);
  if (known) return known.error;
  const error = validate(schedule);
  verdicts.set(key, { error });
  return error;
}

function validate({ cron, timezone }: Schedule): string | undefined {
  if (DIALECT.test(cron)) return 'only numbers, names, *, ?, /, - and commas are allowed';
  try {
    return parse({ cron, timezone }).nextRun() === null ? 'it never matches a time' : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const parse = ({ cron, timezone }: Pick<Schedule, 'cron' | 'timezone'>): Cron =>
  new Cron(cron, { timezone, paused: true, mode: '5-part' });

interface Period {
  from: number;
  until: number;
  schedule: Schedule | undefined;
}

/** Looks times up; each period is computed once, since that costs milliseconds. */
export class Calendar {
  readonly #schedules: readonly Schedule[];
  readonly #crons: Cron[];
  #periods: Period[] = [];

  /** Schedules that can never be followed are left out. */
  constructor(schedules: readonly Schedule[]) {
    this.#schedules = schedules.filter((schedule) => findScheduleError(schedule) === undefined);
    this.#crons = this.#schedules.map(parse);
  }

  /** The schedule that holds at a time (Unix milliseconds): the one that began last. */
  at(time: number): Schedule | undefined {
    if (this.#schedules.length === 0) return undefined;
    const known = this.#periods.find(({ from, until }) => from <= time && time < until);
    if (known) return known.schedule;
    const period = this.#compute(time);
    // Now, and a load time ahead.
    this.#periods = [...this.#periods.slice(-1), period];
    return period.schedule;
  }

  #compute(time: number): Period {
    const found: Period = { from: time, until: Number.POSITIVE_INFINITY, schedule: undefined };
    let begun = Number.NEGATIVE_INFINITY;
    for (const [index, cron] of this.#crons.entries()) {
      // Runs are whole minutes; those before a time leave out one at that very time.
      const last = cron.previousRuns(1, new Date(time + 1))[0]?.getTime();
      const next = cron.nextRun(new Date(time))?.getTime();
      if (last !== undefined && last >= begun) {
        begun = last;
        found.schedule = this.#schedules[index];
      }
      if (next !== undefined) found.until = Math.min(found.until, next);
    }
    return found;
  }
}
