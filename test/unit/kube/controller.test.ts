import { expect } from 'chai';
import { type Controller, createController, watchOf } from '../../../kube/controller.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { createWatcher, type Watcher } from '../../../kube/watcher.ts';
import { createWorkQueue } from '../../../kube/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeApi, thing } from './fake-api.ts';

const MINUTE = 60_000;

describe('A controller', () => {
  let clock: FakeClock;
  let watchers: Watcher[];
  let controller: Controller;
  let runs: string[];
  beforeEach(() => {
    clock = new FakeClock();
    watchers = [];
    runs = [];
  });
  afterEach(async () => {
    await controller.stop();
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    expect(clock.pending).to.equal(0);
  });

  /** Watches objects of several kinds; each maps to the key that is its name. */
  async function start(kinds: KubeObject[][]): Promise<void> {
    watchers = kinds.map((objects, index) => {
      const api = new FakeApi();
      api.objects = objects;
      const resource = { apiVersion: 'v1', kind: `Thing${index}`, plural: 'things', namespaced: true };
      const timing = { staleMs: 600 * MINUTE };
      return createWatcher({ client: api.client, resource, clock, timing, random: () => 0.5 });
    });
    for (const watcher of watchers) watcher.start();
    controller = createController({
      name: 'test',
      queue: createWorkQueue({ name: 'test', clock }),
      clock,
      watches: watchers.map((watcher) => watchOf({ watcher, mapToKeys: ({ metadata }) => [metadata.name] })),
      reconcile: async (key) => {
        runs.push(key);
        return undefined;
      },
    });
    await controller.start();
    await settle();
  }

  it('reconciles each key once in ten minutes at rest, however many objects lead to it', async () => {
    const names = ['a', 'b', 'c'];
    const all = () => names.map((name) => thing(name, 1));
    await start([all(), all(), all(), all()]);
    expect(runs).to.have.members(names);
    runs.length = 0;
    await clock.advance(10 * MINUTE);
    expect(runs).to.have.members(names);
    await clock.advance(10 * MINUTE);
    expect(runs).to.have.length(2 * names.length);
  });

  it('spreads a resync over its interval', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `thing-${index}`);
    await start([names.map((name) => thing(name, 1))]);
    runs.length = 0;
    for (let minute = 1; minute <= 10; minute++) {
      for (let step = 0; step < 12; step++) await clock.advance(5_000);
      expect(runs).to.have.length(100 * minute);
    }
    expect(new Set(runs)).to.have.property('size', 1_000);
  });

  it('answers many changes of a watch that concerns every key once, with the keys of that moment in their lanes', async () => {
    const api = new FakeApi();
    const resource = { apiVersion: 'v1', kind: 'Front', plural: 'fronts', namespaced: true };
    const front = createWatcher({ client: api.client, resource, clock, timing: { staleMs: MINUTE } });
    watchers = [front];
    front.start();
    const lists: string[] = [];
    let release = () => {};
    controller = createController({
      name: 'test',
      clock,
      queue: createWorkQueue({ name: 'test', clock, workers: 1 }),
      watches: [],
      fanOuts: [
        {
          watcher: front,
          debounceMs: 250,
          listKeys: () => {
            lists.push('listed');
            return [
              { key: 'behind', lane: 'slow' },
              { key: 'first', lane: 'fast' },
            ];
          },
        },
      ],
      reconcile: async (key) => {
        runs.push(key);
        if (key === 'busy') await new Promise<void>((resolve) => (release = resolve));
        return undefined;
      },
    });
    await controller.start();
    await settle();
    controller.queue.add('busy');
    await settle();
    for (let version = 2; version < 6; version++) {
      api.lastWatch.send(version === 2 ? 'ADDED' : 'MODIFIED', thing('one', version));
      await settle();
    }
    await clock.advance(249);
    expect(lists).to.deep.equal([]);
    await clock.advance(1);
    expect(lists).to.deep.equal(['listed']);
    release();
    await settle();
    expect(runs).to.deep.equal(['busy', 'first', 'behind']);
  });

  it('drops a fan-out that still waits when it stops', async () => {
    const api = new FakeApi();
    const resource = { apiVersion: 'v1', kind: 'Front', plural: 'fronts', namespaced: true };
    const front = createWatcher({ client: api.client, resource, clock, timing: { staleMs: MINUTE } });
    watchers = [front];
    front.start();
    const fanOut = { watcher: front, debounceMs: 250, listKeys: () => [{ key: 'a', lane: 'fast' as const }] };
    const reconcile = async (key: string) => {
      runs.push(key);
      return undefined;
    };
    const queue = createWorkQueue({ name: 'test', clock });
    controller = createController({ name: 'test', queue, clock, watches: [], fanOuts: [fanOut], reconcile });
    await controller.start();
    await settle();
    api.lastWatch.send('ADDED', thing('one', 2));
    await settle();
    await controller.stop();
    await clock.advance(MINUTE / 2);
    expect(runs).to.deep.equal([]);
  });
});
