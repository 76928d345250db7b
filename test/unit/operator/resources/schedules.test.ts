import { expect } from 'chai';
import { modelScaling } from '../../../../api/model-scaling.ts';
import { Calendar, findScheduleError, type Schedule } from '../../../../operator/resources/schedules.ts';

const make = (cron: string, more: Partial<Schedule> = {}): Schedule => ({ cron, timezone: 'UTC', ...more });
const at = (time: string) => Date.parse(time);

describe('schedules', () => {
  const week = new Calendar([
    make('0 8 * * 1-5', { timezone: 'Europe/Zurich', min: 3 }),
    make('0 18 * * 1-5', { timezone: 'Europe/Zurich', min: 0 }),
  ]);
  const minAt = (time: string) => week.at(at(time))?.min;

  it('hold from their time on until another one begins', () => {
    expect(minAt('2026-11-23T06:59:59Z')).to.equal(0);
    expect(minAt('2026-11-23T07:00:00Z')).to.equal(3);
    expect(minAt('2026-11-23T16:59:59Z')).to.equal(3);
    expect(minAt('2026-11-23T17:00:00Z')).to.equal(0);
    // From Friday evening to Monday morning.
    expect(minAt('2026-11-22T12:00:00Z')).to.equal(0);
  });

  it('follow daylight saving time', () => {
    expect(minAt('2026-07-01T06:00:00Z')).to.equal(3);
    expect(minAt('2026-07-01T05:59:00Z')).to.equal(0);
  });

  it('may be looked up in any order', () => {
    for (const [time, min] of [
      ['2026-11-24T12:00:00Z', 3],
      ['2026-11-23T20:00:00Z', 0],
      ['2026-11-24T12:30:00Z', 3],
    ] as const)
      expect(minAt(time)).to.equal(min);
  });

  it('leave the bounds of the spec where there are none', () => {
    expect(new Calendar([]).at(at('2026-11-23T12:00:00Z'))).to.equal(undefined);
  });

  it('are refused with what takes long to look up', () => {
    for (const cron of [
      '0 0 * 2 1#5',
      '0 0 31W * *',
      '0 0 L * *',
      '0 0 * * 5L',
      '0 0 30 2 +1',
      '0 0 1 LLL 1',
    ]) {
      expect(findScheduleError(make(cron)), cron).to.match(/^only numbers/);
      const spec = modelScaling.safeParse({ schedules: [{ cron, min: 1 }] });
      if (cron !== '0 0 1 LLL 1') expect(spec.success, cron).to.equal(false);
    }
    for (const cron of ['0 0 1 JUL *', '0 0 * jul-aug wed,FRI', '*/5 8-18 ? * 1-5']) {
      expect(findScheduleError(make(cron)), cron).to.equal(undefined);
      expect(modelScaling.safeParse({ schedules: [{ cron, min: 1 }] }).success, cron).to.equal(true);
    }
  });

  it('are refused if they can never be followed', () => {
    expect(findScheduleError(make('0 8 * * 1-5'))).to.equal(undefined);
    expect(findScheduleError(make('0 0 30 2 *'))).to.equal('it never matches a time');
    expect(findScheduleError(make('0 25 * * *'))).to.be.a('string');
    expect(findScheduleError(make('0 8 * * *', { timezone: 'Mars/Olympus' }))).to.be.a('string');
  });
});
