/** Scaling limits that change by the clock: each schedule applies from a time of its cron expression until another's (decision 0237). */
import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import type { ModelScaling } from '../../api/model-scaling.ts';

export type Schedule = ModelScaling['schedules'][number];

/** `L` and `W`, except in names such as JUL and WED: a cron extension that takes up to seconds to evaluate. */
const DIALECT = /[#+]|(?<!ju)l|w(?!ed)/i;
const MAX_VERDICTS = 2_000;
/** By expression and time zone: evaluated once, since that takes milliseconds. */
const verdicts = new LRUCache<string, { error: string | undefined }>({ max: MAX_VERDICTS });

/** Why a schedule can never trigger; undefined if it can. */
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

/** Evaluates schedules; each period is computed once, since that takes milliseconds. */
export class Calendar {
  readonly #schedules: readonly Schedule[];
  readonly #crons: Cron[];
  #periods: Period[] = [];

  /** Schedules that can never trigger are omitted. */
  constructor(schedules: readonly Schedule[]) {
    this.#schedules = schedules.filter((schedule) => findScheduleError(schedule) === undefined);
    this.#crons = this.#schedules.map(parse);
  }

  /** The schedule in effect at a time (Unix milliseconds): the one that started last. */
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
      // Runs are whole minutes; "previous" excludes one at exactly that time.
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
