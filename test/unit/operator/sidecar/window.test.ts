import { expect } from 'chai';
import { parseSidecarRollout } from '../../../../operator/sidecar/settings.ts';
import { isWindowOpen } from '../../../../operator/sidecar/window.ts';

const isOpen = (window: object, at: string) =>
  isWindowOpen(parseSidecarRollout({ enabled: true, window })!.window, Date.parse(at));

/** 2026-03-04 is a Wednesday. */
const CASES: [string, object, [string, boolean][]][] = [
  ['without a window: always', {}, [['2026-03-04T12:00:00Z', true]]],
  [
    'within its hours, until their end',
    { from: '09:00', to: '17:00' },
    [
      ['2026-03-04T08:59:59Z', false],
      ['2026-03-04T09:00:00Z', true],
      ['2026-03-04T16:59:59Z', true],
      ['2026-03-04T17:00:00Z', false],
    ],
  ],
  [
    'on its days only',
    { days: ['Wed'] },
    [
      ['2026-03-03T23:59:59Z', false],
      ['2026-03-04T00:00:00Z', true],
      ['2026-03-04T23:59:59Z', true],
      ['2026-03-05T00:00:00Z', false],
    ],
  ],
  [
    'past midnight as part of the day before',
    { days: ['Sun'], from: '22:00', to: '05:00' },
    [
      ['2026-03-08T04:00:00Z', false],
      ['2026-03-08T22:00:00Z', true],
      ['2026-03-09T04:59:00Z', true],
      ['2026-03-09T05:00:00Z', false],
      ['2026-03-09T22:00:00Z', false],
    ],
  ],
  [
    'by the clocks of its time zone, in winter and in summer',
    { from: '01:00', to: '02:00', timeZone: 'America/New_York' },
    [
      ['2026-03-04T06:30:00Z', true],
      ['2026-07-04T06:30:00Z', false],
      ['2026-07-04T05:30:00Z', true],
    ],
  ],
  [
    'until midnight',
    { days: ['Wed'], from: '20:00', to: '00:00' },
    [
      ['2026-03-04T23:59:00Z', true],
      ['2026-03-05T00:00:00Z', false],
    ],
  ],
];

describe('the window of the sidecar rollout is open', () => {
  for (const [name, window, times] of CASES)
    it(name, () => {
      for (const [at, expected] of times) expect(isOpen(window, at), at).to.equal(expected);
    });
});

describe('the settings of the sidecar rollout', () => {
  it('are none while it is off', () => {
    expect(parseSidecarRollout({})).to.equal(undefined);
    expect(parseSidecarRollout({ enabled: false, maxConcurrent: 3 })).to.equal(undefined);
  });

  it('have defaults', () => {
    expect(parseSidecarRollout({ enabled: true })).to.deep.equal({
      namespaces: [],
      maxConcurrent: { percent: 5 },
      window: undefined,
      stop: {
        failedPercent: 10,
        periodMs: 3_600_000,
        observeMs: 300_000,
        readyTimeoutMs: undefined,
        errorIncrease: 5,
        minRequests: 20,
      },
      configMap: 'berth-sidecar-rollout',
    });
  });

  const wrong: [object, RegExp][] = [
    [{ maxConcurrent: 0 }, /maxConcurrent/],
    [{ maxConcurrent: '0%' }, /maxConcurrent/],
    [{ window: { days: ['Monday'] } }, /window\.days/],
    [{ window: { from: '9:00', to: '10:00' } }, /window\.from/],
    [{ window: { from: '09:00' } }, /from and to belong together/],
    [{ window: { from: '09:00', to: '09:00' } }, /from and to must differ/],
    [{ window: { timeZone: 'Mars/Olympus' } }, /window\.timeZone: must be a time zone/],
    [{ stop: { period: '2d' } }, /stop\.period: must be at most 1d/],
    [{ stop: { failedPercent: 101 } }, /stop\.failedPercent/],
    [{ budget: 1 }, /is not a known field/],
  ];
  for (const [change, message] of wrong)
    it(`are refused with the field's name: ${JSON.stringify(change)}`, () =>
      expect(() => parseSidecarRollout({ enabled: true, ...change })).to.throw(message));
});
