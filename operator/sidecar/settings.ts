/** Settings of the automatic rollout of sidecars: the chart's `sidecarRollout`. */
import { z } from 'zod';
import { FIELD_MESSAGES } from '../../api/field-messages.ts';
import { duration, parseDuration } from '../../api/quantity.ts';

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export interface RolloutWindow {
  /** Days on which it opens; one that passes midnight belongs to the previous day. */
  days: readonly Weekday[];
  /** Minutes since midnight. */
  from: number;
  to: number;
  /** A name of IANA, such as Europe/Berlin. */
  timeZone: string;
}

export interface StopRules {
  /** The rollout stops when more than this percentage of the deployments that ended within `periodMs` failed. */
  failedPercent: number;
  periodMs: number;
  /** How long a rolled deployment is monitored after its last pod is ready. */
  observeMs: number;
  /** Longest time without progress; undefined: the Deployment's own progress deadline. */
  readyTimeoutMs: number | undefined;
  /** Allowed rise of the share of server errors, in percentage points. */
  errorIncrease: number;
  /** With fewer requests after the rollout, errors are not evaluated. */
  minRequests: number;
}

export interface SidecarRolloutSettings {
  /** All if empty. */
  namespaces: readonly string[];
  maxConcurrent: { count: number } | { percent: number };
  /** Undefined: at any time. */
  window: RolloutWindow | undefined;
  stop: StopRules;
  /** In Berth's namespace: holds why the rollout stopped. */
  configMap: string;
}

/** Error counts by the minute are kept for a little longer than a day. */
const MAX_PERIOD_DAYS = 1;
const TIME = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;

const time = z.union([z.literal(''), z.string().regex(TIME, 'must be a time such as 22:00')]);

const windowSchema = z
  .strictObject({
    days: z.array(z.enum(WEEKDAYS)).default([]),
    from: time.default(''),
    to: time.default(''),
    timeZone: z.string().refine(isTimeZone, 'must be a time zone such as Europe/Berlin').default('UTC'),
  })
  .refine(({ from, to }) => (from === '') === (to === ''), 'from and to belong together')
  .refine(({ from, to }) => from === '' || from !== to, 'from and to must differ')
  .transform(({ days, from, to, timeZone }): RolloutWindow | undefined =>
    days.length === 0 && from === ''
      ? undefined
      : { days: days.length === 0 ? WEEKDAYS : days, from: toMinutes(from), to: toMinutes(to), timeZone },
  );

const stopSchema = z
  .strictObject({
    failedPercent: z.number().min(0).max(100).default(10),
    period: duration('', MAX_PERIOD_DAYS).default('1h'),
    observe: duration('', MAX_PERIOD_DAYS).default('5m'),
    readyTimeout: z.union([z.literal(''), duration('')]).default(''),
    errorIncrease: z.number().min(0).max(100).default(5),
    minRequests: z.int().min(1).default(20),
  })
  .transform(
    ({ period, observe, readyTimeout, ...rest }): StopRules => ({
      ...rest,
      periodMs: parseDuration(period),
      observeMs: parseDuration(observe),
      readyTimeoutMs: readyTimeout === '' ? undefined : parseDuration(readyTimeout),
    }),
  );

const schema = z.strictObject({
  enabled: z.boolean().default(false),
  namespaces: z.array(z.string()).default([]),
  maxConcurrent: z
    .union([
      z.int().min(1),
      z.string().regex(/^([1-9][0-9]?|100)%$/, 'must be a number of deployments or a percentage such as 5%'),
    ])
    .default('5%')
    .transform((most) =>
      typeof most === 'number' ? { count: most } : { percent: Number.parseInt(most, 10) },
    ),
  window: windowSchema.prefault({}),
  stop: stopSchema.prefault({}),
  configMap: z.string().min(1).default('berth-sidecar-rollout'),
});

/** Undefined if off; throws what is invalid, field by field. */
export function parseSidecarRollout(value: unknown): SidecarRolloutSettings | undefined {
  const result = schema.safeParse(value, FIELD_MESSAGES);
  if (!result.success) {
    const issues = result.error.issues.map(
      ({ path, message }) => `${path.map(String).join('.')}: ${message}`,
    );
    throw new Error(issues.join('; '));
  }
  const { enabled, ...settings } = result.data;
  return enabled ? settings : undefined;
}

/** Midnight if not set: from midnight to midnight is the whole day. */
const toMinutes = (text: string): number =>
  text === '' ? 0 : Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}
