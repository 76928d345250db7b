import { expect } from 'chai';
import { KubeApiError } from '../../../kube/api-error.ts';
import { createEventRecorder, type EventRecorderOptions } from '../../../kube/events.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { broken } from './fake-api.ts';
import { recordLog } from './recording-log.ts';

describe('An event recorder', () => {
  let clock: FakeClock;
  let created: KubeObject[];
  let patches: { name: string; count: number }[];
  let failure: Error | undefined;
  beforeEach(() => {
    clock = new FakeClock();
    created = [];
    patches = [];
    failure = undefined;
  });
  const client = {
    create: async (_: unknown, object: KubeObject) => {
      if (failure) throw failure;
      created.push(object);
      return object;
    },
    mergePatch: async (
      _: unknown,
      { at, patch }: { at: { name: string }; patch: { series: { count: number } } },
    ) => {
      if (failure) throw failure;
      patches.push({ name: at.name, count: patch.series.count });
    },
  } as unknown as EventRecorderOptions['client'];
  const log = recordLog();
  const make = () =>
    createEventRecorder({ client, controller: 'example.dev/x', instance: 'x-0', clock, log });
  const subject: KubeObject = {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'a', namespace: 'ns', uid: 'u' },
  };
  const warning = (note: string) => ({ type: 'Warning', reason: 'Stuck', note }) as const;

  it('counts repeats in one event, written at most every 30 seconds', async () => {
    const recorder = make();
    for (let second = 0; second <= 60; second++) {
      recorder.record(subject, warning('no room'));
      await clock.advance(1_000);
    }
    await recorder.flush();
    expect(created).to.have.length(1);
    expect(patches.map(({ count }) => count)).to.deep.equal([31, 61]);
  });

  it('begins a new event when the last one is ten minutes old, or was removed', async () => {
    const recorder = make();
    recorder.record(subject, warning('no room'));
    await clock.advance(10 * 60_000);
    recorder.record(subject, warning('no room'));
    await recorder.flush();
    expect(created).to.have.length(2);
    await clock.advance(30_000);
    failure = new KubeApiError({ code: 404, reason: 'NotFound', call: 'patch' }, 'not found');
    recorder.record(subject, warning('no room'));
    await recorder.flush();
    failure = undefined;
    recorder.record(subject, warning('no room'));
    await recorder.flush();
    expect(created).to.have.length(3);
  });

  it('cuts a flood on one object, not the events of another', async () => {
    const recorder = make();
    for (let i = 0; i < 100; i++) recorder.record(subject, warning(`note ${i}`));
    recorder.record({ ...subject, metadata: { ...subject.metadata, name: 'b', uid: 'v' } }, warning('first'));
    await recorder.flush();
    expect(created).to.have.length(26);
    expect(recorder.dropped()).to.equal(75);
    await clock.advance(60_000);
    recorder.record(subject, warning('later'));
    await recorder.flush();
    expect(created).to.have.length(27);
  });

  it('goes on after a failure, which it only logs', async () => {
    const recorder = make();
    failure = broken();
    recorder.record(subject, warning('lost'));
    await recorder.flush();
    failure = undefined;
    recorder.record(subject, warning('kept'));
    await recorder.flush();
    expect(created.map(({ note }) => note)).to.deep.equal(['kept']);
    expect(log.lines).to.deep.equal(['warn event not recorded']);
  });

  it('gives every event a name of its own that fits', async () => {
    const recorder = make();
    const long = { ...subject, metadata: { ...subject.metadata, name: 'n'.repeat(253) } };
    for (const note of ['one', 'two']) recorder.record(long, warning(note));
    await recorder.flush();
    const [one, two] = created.map(({ metadata }) => metadata.name);
    expect(one).to.not.equal(two);
    expect(one!.length).to.be.at.most(253);
  });
});
