import { expect } from 'chai';
import { Calendar } from '../../../../operator/resources/schedules.ts';
import { resolveRules } from '../../../../operator/scaling/rules.ts';
import type { ScaledModel } from '../../../../operator/scaling/scaled-deployment.ts';
import { makeModel } from '../resources/fixtures.ts';

const LOAD_TIME_MS = 90_000;

describe('the rules that hold for scaling', () => {
  const { spec } = makeModel({
    scaling: {
      min: 1,
      max: 4,
      schedules: [
        { cron: '0 8 * * *', min: 3, max: 8 },
        { cron: '0 18 * * *', min: 0, max: 2 },
      ],
    },
  }) as ScaledModel;
  const calendar = new Calendar(spec.scaling.schedules);
  const boundsAt = (time: string, loadTimeMs: number | null = LOAD_TIME_MS) => {
    const now = Date.parse(`2026-11-24T${time}Z`);
    const { min, max } = resolveRules(spec, { calendar, loadTimeMs, now });
    return { min, max };
  };

  it('raise the bounds a load time before a schedule begins', () => {
    expect(boundsAt('07:58:29')).to.deep.equal({ min: 0, max: 2 });
    expect(boundsAt('07:58:30')).to.deep.equal({ min: 3, max: 8 });
    expect(boundsAt('08:00:00')).to.deep.equal({ min: 3, max: 8 });
  });

  it('raise them at its time where no start was measured yet', () => {
    expect(boundsAt('07:59:59', null)).to.deep.equal({ min: 0, max: 2 });
    expect(boundsAt('08:00:00', null)).to.deep.equal({ min: 3, max: 8 });
  });

  it('lower them at its time and no earlier', () => {
    expect(boundsAt('17:59:59')).to.deep.equal({ min: 3, max: 8 });
    expect(boundsAt('18:00:00')).to.deep.equal({ min: 0, max: 2 });
  });

  it('keep those of the spec that a schedule says nothing of, and no minimum above the maximum', () => {
    const resolve = (schedule: object) => {
      const scaling = { ...spec.scaling, schedules: [{ cron: '0 8 * * *', timezone: 'UTC', ...schedule }] };
      const now = Date.parse('2026-11-24T12:00:00Z');
      const { min, max } = resolveRules(
        { ...spec, scaling },
        { calendar: new Calendar(scaling.schedules), loadTimeMs: null, now },
      );
      return { min, max };
    };
    expect(resolve({ min: 2 })).to.deep.equal({ min: 2, max: 4 });
    expect(resolve({ max: 9 })).to.deep.equal({ min: 1, max: 9 });
    expect(resolve({ min: 6 })).to.deep.equal({ min: 4, max: 4 });
  });
});
