import { expect } from 'chai';
import { KubeApiError, TOO_LARGE } from '../../../kube/api-error.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { createWatcher, type Watcher, type WatcherOptions } from '../../../kube/watcher.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { broken, FakeApi, forbidden, gone, thing } from './fake-api.ts';
import { recordLog } from './recording-log.ts';

const THING = { apiVersion: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const MINUTE = 60_000;

describe('A watcher', () => {
  let api: FakeApi;
  let clock: FakeClock;
  let watcher: Watcher;
  let changes: string[];
  let log: ReturnType<typeof recordLog>;
  beforeEach(() => {
    api = new FakeApi();
    clock = new FakeClock();
    changes = [];
    log = recordLog();
  });
  afterEach(async () => {
    await watcher.stop();
    expect(clock.pending).to.equal(0);
    expect(api.open).to.deep.equal([]);
  });

  async function start(options: Partial<WatcherOptions<KubeObject>> = {}): Promise<void> {
    watcher = createWatcher({
      client: api.client,
      resource: THING,
      clock,
      log,
      random: () => 0.5,
      timing: { backoff: { baseMs: 1_000, maxMs: 8_000 }, settleMs: 2_000 },
      ...options,
    });
    const show = (object?: KubeObject) =>
      object ? `${object.metadata.name}@${object.metadata.resourceVersion}` : '-';
    watcher.onChange((old, current) => changes.push(`${show(old)} ${show(current)}`));
    watcher.start();
    await settle();
  }
  const names = () => watcher.list().map(({ metadata }) => metadata.name);

  it('lists page by page, then watches from the version of the list', async () => {
    api.onList = ({ continue: next, limit }) => {
      expect(limit).to.equal(2);
      const page = Number(next ?? 0);
      return {
        items: [thing(`a${page}`, 1), thing(`b${page}`, 1)],
        metadata: { resourceVersion: '7', continue: page < 2 ? String(page + 1) : '' },
      };
    };
    await start({ pageSize: 2 });
    expect(names()).to.deep.equal(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
    expect(api.lastWatch.options.resourceVersion).to.equal('7');
  });

  it('lists once more in one piece when the token for the next page expires', async () => {
    api.objects = [thing('a', 1)];
    api.onList = ({ continue: next, limit }) => {
      if (next) throw gone();
      if (limit) return { items: [thing('stale', 1)], metadata: { resourceVersion: '1', continue: 'x' } };
      return undefined;
    };
    await start();
    expect(names()).to.deep.equal(['a']);
    expect(api.lists.map(({ limit }) => limit)).to.deep.equal([250, 250, undefined]);
  });

  it('lists fewer at once where a page is larger than it is read', async () => {
    api.objects = [thing('a', 1), thing('b', 2)];
    api.onList = ({ limit = Number.POSITIVE_INFINITY }) => {
      if (limit > 10)
        throw new KubeApiError({ code: 413, reason: TOO_LARGE, call: 'list things' }, 'too large');
      return undefined;
    };
    await start();
    expect(names()).to.deep.equal(['a', 'b']);
    expect(api.lists.map(({ limit }) => limit)).to.deep.equal([250, 32, 4]);
  });

  it('reports every change with the state before and after', async () => {
    api.objects = [thing('a', 1)];
    await start();
    api.lastWatch.send('MODIFIED', thing('a', 2));
    api.lastWatch.send('ADDED', thing('b', 3));
    api.lastWatch.send('DELETED', thing('a', 4));
    await settle();
    expect(changes).to.deep.equal(['- a@1', 'a@1 a@2', '- b@3', 'a@2 -']);
    expect(names()).to.deep.equal(['b']);
  });

  it('goes on from the last event or bookmark when a watch ends, at once and without a list', async () => {
    await start();
    api.lastWatch.send('ADDED', thing('a', 5));
    api.lastWatch.send('BOOKMARK', thing('', 9));
    api.lastWatch.end();
    await settle();
    expect(api.watches.map(({ options }) => options.resourceVersion)).to.deep.equal(['1', '9']);
    expect(api.lists).to.have.length(1);
    expect(names()).to.deep.equal(['a']);
  });

  it('lists again when its version is gone, and reports what was deleted meanwhile', async () => {
    api.objects = [thing('a', 1), thing('b', 1), thing('c', 1)];
    await start();
    api.objects = [thing('b', 1), thing('c', 8), thing('d', 9)];
    api.version = 20;
    changes.length = 0;
    api.lastWatch.fail(gone());
    await clock.advance(1_000);
    expect(changes).to.have.members(['a@1 -', 'c@1 c@8', '- d@9']);
    expect(api.lastWatch.options.resourceVersion).to.equal('20');
    expect(watcher.missed()).to.equal(0);
  });

  it('backs off while the API server is away, one attempt at a time, and recovers', async () => {
    api.onList = () => {
      throw broken();
    };
    await start();
    const at: number[] = [];
    const failing = api.onList;
    api.onList = (options) => {
      at.push(clock.now());
      return failing(options);
    };
    await clock.advance(30_000);
    expect(watcher.hasSynced()).to.equal(false);
    // Three quarters of 1, 2, 4, 8, 8 … seconds, with this random number.
    expect(at).to.deep.equal([750, 2_250, 5_250, 11_250, 17_250, 23_250, 29_250]);
    api.onList = () => undefined;
    await clock.advance(10_000);
    expect(watcher.hasSynced()).to.equal(true);
    expect(api.open).to.have.length(1);
  });

  it('lists at once when the API server is back and its version is gone', async () => {
    await start();
    api.onWatch = (watch) => watch.fail(broken());
    api.lastWatch.fail(broken());
    await clock.advance(30_000);
    let answered = false;
    api.onWatch = (watch) => {
      if (watch.options.resourceVersion === '1') watch.fail(gone());
      answered = true;
    };
    api.version = 20;
    while (!answered) await clock.advance(100);
    expect(api.lastWatch.options.resourceVersion).to.equal('20');
    expect(api.open).to.have.length(1);
  });

  it('does not hammer an API server for which every version is gone', async () => {
    api.onWatch = (watch) => watch.fail(gone());
    await start();
    await clock.advance(MINUTE);
    expect(api.lists.length).to.be.within(5, 15);
  });

  it('does not hammer an API server that ends every watch at once', async () => {
    api.onWatch = (watch) => watch.end();
    await start();
    await clock.advance(MINUTE);
    expect(api.watches.length).to.be.within(5, 15);
  });

  it('opens a watch again in which nothing is heard, while bookmarks keep it open', async () => {
    await start({ timing: { staleMs: 100_000 } });
    for (let minute = 0; minute < 5; minute++) {
      await clock.advance(MINUTE);
      api.lastWatch.send('BOOKMARK', thing('', 10 + minute));
      await settle();
    }
    expect(api.watches).to.have.length(1);
    await clock.advance(99_000);
    expect(watcher.ageMs()).to.equal(99_000);
    await clock.advance(2_000);
    expect(api.watches).to.have.length(2);
    expect(api.open).to.have.length(1);
    expect(watcher.failures()).to.equal(1);
  });

  it('lists again every ten minutes and reports no unchanged objects', async () => {
    api.objects = [thing('a', 1)];
    await start({ timing: { staleMs: 60 * MINUTE } });
    changes.length = 0;
    await clock.advance(10 * MINUTE);
    expect(changes).to.deep.equal([]);
    await clock.advance(10 * MINUTE);
    expect(api.lists).to.have.length(3);
    expect(api.watches).to.have.length(1);
  });

  it('finds what the watch missed, counts it, and opens the watch again', async () => {
    api.objects = [thing('changed', 1), thing('deleted', 1), thing('same', 1)];
    await start();
    changes.length = 0;
    api.objects = [thing('changed', 5), thing('same', 1), thing('new', 6)];
    api.version = 10;
    const resync = watcher.resync();
    await clock.advance(2_000);
    await resync;
    expect(watcher.missed()).to.equal(3);
    expect(changes).to.have.members(['changed@1 changed@5', '- new@6', 'deleted@1 -']);
    expect(api.open).to.have.length(1);
    expect(api.lastWatch.options.resourceVersion).to.equal('10');
  });

  it('completes at the next list what it had no room for, and counts that as nothing missed', async () => {
    api.objects = [thing('large', 1), thing('small', 1)];
    let isFull = true;
    await start({
      trim: (object) =>
        isFull && object.metadata.name === 'large' ? { ...object, spec: 'no room' } : object,
    });
    const specOf = () => typeof watcher.list().find(({ metadata }) => metadata.name === 'large')?.spec;
    const resync = async () => {
      const done = watcher.resync();
      await clock.advance(2_000);
      await done;
    };
    changes.length = 0;
    await resync();
    expect(changes).to.deep.equal([]);
    expect(specOf()).to.equal('string');
    isFull = false;
    await resync();
    expect(changes).to.deep.equal(['large@1 large@1']);
    expect(specOf()).not.to.equal('string');
    expect(watcher.missed()).to.equal(0);
    expect(api.watches).to.have.length(1);
  });

  it('counts nothing as missed that the watch delivers a moment later', async () => {
    api.objects = [thing('old', 1), thing('gone', 2)];
    await start();
    api.objects = [thing('old', 5), thing('brief', 6)];
    api.version = 10;
    const resync = watcher.resync();
    await settle();
    api.lastWatch.send('MODIFIED', thing('old', 5));
    api.lastWatch.send('ADDED', thing('brief', 6));
    api.lastWatch.send('DELETED', thing('gone', 7));
    api.lastWatch.send('ADDED', thing('later', 11));
    api.lastWatch.send('DELETED', thing('brief', 12));
    await clock.advance(2_000);
    await resync;
    expect(watcher.missed()).to.equal(0);
    expect(names()).to.have.members(['old', 'later']);
    expect(api.watches).to.have.length(1);
  });

  it('leaves to a new list what a resync found before it', async () => {
    api.objects = [thing('brief', 1), thing('old', 1)];
    await start();
    api.objects = [thing('brief', 1), thing('old', 1), thing('missed', 6)];
    const resync = watcher.resync();
    await settle();
    api.objects = [thing('old', 1)];
    api.version = 10;
    api.lastWatch.fail(gone());
    await settle();
    await clock.advance(2_000);
    await resync;
    expect(log.lines).to.deep.equal(['warn watch failed, reopening']);
    expect(names()).to.deep.equal(['old']);
    expect(watcher.missed()).to.equal(0);
    expect(api.open).to.have.length(1);
  });

  it('survives a resync that fails', async () => {
    await start();
    api.onList = () => {
      throw broken();
    };
    await watcher.resync();
    expect(log.lines).to.deep.equal(['warn resync failed']);
    expect(api.open).to.have.length(1);
  });

  it('continues when a handler throws, and calls the other handlers', async () => {
    await start();
    watcher.onChange(() => {
      throw new Error('bug');
    });
    const seen: string[] = [];
    watcher.onChange((_, current) => seen.push(current!.metadata.name));
    api.lastWatch.send('ADDED', thing('a', 2));
    api.lastWatch.send('ADDED', thing('b', 3));
    await settle();
    expect(seen).to.deep.equal(['a', 'b']);
    expect(log.lines).to.deep.equal(['error a watch handler threw', 'error a watch handler threw']);
  });

  it('has synced when every namespace has been listed, and keeps them apart', async () => {
    api.objects = [thing('a', 1, 'one'), thing('b', 1, 'two')];
    api.onList = ({ namespace }) => {
      if (namespace === 'two') throw broken();
      return undefined;
    };
    await start({ namespaces: ['one', 'two'] });
    let synced = false;
    const wait = watcher.waitForSync().then(() => {
      synced = true;
    });
    await settle();
    expect([watcher.hasSynced(), synced]).to.deep.equal([false, false]);
    api.onList = () => undefined;
    await clock.advance(1_000);
    await wait;
    expect(names()).to.have.members(['a', 'b']);

    api.objects = [thing('b', 1, 'two')];
    api.watches.find(({ options }) => options.namespace === 'one')!.fail(gone());
    await clock.advance(1_000);
    expect(names()).to.deep.equal(['b']);
  });

  it('goes on without a namespace that may not be read, and takes it in when it may', async () => {
    api.objects = [thing('a', 1, 'one'), thing('b', 1, 'two')];
    const tries: number[] = [];
    api.onList = ({ namespace }) => {
      if (namespace !== 'two') return undefined;
      tries.push(clock.now());
      throw forbidden();
    };
    await start({ namespaces: ['one', 'two'] });
    await watcher.waitForSync();
    expect(names()).to.deep.equal(['a']);
    expect(watcher.unseen()).to.deep.equal(['two']);
    for (let minute = 0; minute < 30; minute++) {
      await clock.advance(MINUTE);
      const one = api.open.find(({ options }) => options.namespace === 'one')!;
      one.send('BOOKMARK', thing('', minute + 2));
      await settle();
      expect(watcher.ageMs()).to.be.at.most(2 * MINUTE);
    }
    expect(watcher.hasSynced()).to.equal(true);
    expect(tries.length).to.be.within(20, 60);
    expect(log.lines).to.deep.equal(['warn namespace is not readable, continuing without it']);
    api.onList = () => undefined;
    await clock.advance(2 * MINUTE);
    expect(names()).to.have.members(['a', 'b']);
    expect(watcher.unseen()).to.deep.equal([]);
    expect(log.lines.at(-1)).to.equal('info namespace is readable again');
  });

  it('keeps what it knows of a namespace that may not be read any more', async () => {
    api.objects = [thing('a', 1, 'one'), thing('b', 1, 'two')];
    await start({ namespaces: ['one', 'two'] });
    api.onWatch = (watch) => {
      if (watch.options.namespace === 'two') watch.fail(forbidden());
    };
    api.watches.find(({ options }) => options.namespace === 'two')!.fail(forbidden());
    await clock.advance(MINUTE);
    expect(names()).to.have.members(['a', 'b']);
    expect([watcher.hasSynced(), watcher.unseen()]).to.deep.equal([true, []]);
  });

  it('has not synced while nothing at all may be read', async () => {
    api.onList = () => {
      throw forbidden();
    };
    await start({ namespaces: ['one', 'two'] });
    await clock.advance(MINUTE);
    expect(watcher.hasSynced()).to.equal(false);
  });

  it('opens nothing more when it is stopped while it waits to try again', async () => {
    api.onList = () => {
      throw broken();
    };
    await start();
    await watcher.stop();
    api.onList = () => undefined;
    await clock.advance(MINUTE);
    expect(api.lists).to.have.length(1);
    expect(api.watches).to.have.length(0);
  });

  it('gives out objects that nobody can change, and what is left of them after trimming', async () => {
    api.objects = [{ ...thing('a', 1), data: { key: 'value' }, noise: 'x'.repeat(1_000) }];
    await start({ trim: ({ noise, ...kept }) => kept as KubeObject });
    const object = watcher.get('ns/a')!;
    expect(object).to.not.have.property('noise');
    expect(() => {
      (object.data as Record<string, string>).key = 'other';
    }).to.throw(TypeError);
  });

  it('finds objects by their controller and by other indexes, as they are now', async () => {
    const owned = (name: string, version: number, uid: string, color: string): KubeObject => ({
      ...thing(name, version),
      metadata: {
        ...thing(name, version).metadata,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid, controller: true }],
      },
      color,
    });
    api.objects = [owned('a', 1, 'u1', 'red'), owned('b', 1, 'u1', 'blue')];
    await start({ indexes: { color: ({ color }) => [color as string] } });
    const found = (index: string, value: string) =>
      watcher.byIndex(index, value).map(({ metadata }) => metadata.name);
    expect(found('controller', 'u1')).to.deep.equal(['a', 'b']);
    expect(found('color', 'blue')).to.deep.equal(['b']);
    api.lastWatch.send('MODIFIED', owned('b', 2, 'u2', 'red'));
    api.lastWatch.send('DELETED', owned('a', 3, 'u1', 'red'));
    await settle();
    expect(found('controller', 'u1')).to.deep.equal([]);
    expect(found('controller', 'u2')).to.deep.equal(['b']);
    expect([found('color', 'red'), found('color', 'blue')]).to.deep.equal([['b'], []]);
    expect(() => watcher.byIndex('shape', 'x')).to.throw('no index "shape"');
  });

  describe('told of a write', () => {
    const written = (version: number, more: Partial<KubeObject['metadata']> = {}, uid = 'u1') => {
      const object = thing('a', version);
      return { ...object, metadata: { ...object.metadata, uid, ...more } };
    };
    beforeEach(async () => {
      api.objects = [written(3)];
      await start({ trim: ({ spec: _, ...object }) => object });
      changes.length = 0;
    });

    it('shows it at once, trimmed, and once only', async () => {
      watcher.absorb({ ...written(5), spec: 'long' });
      expect(changes).to.deep.equal(['a@3 a@5']);
      expect(watcher.get('ns/a')).not.to.have.property('spec');
      api.lastWatch.send('MODIFIED', written(4));
      api.lastWatch.send('MODIFIED', written(5));
      await settle();
      expect(changes).to.deep.equal(['a@3 a@5']);
      api.lastWatch.send('MODIFIED', written(6));
      api.lastWatch.send('DELETED', written(7));
      await settle();
      expect(changes.slice(1)).to.deep.equal(['a@5 a@6', 'a@6 -']);
    });

    it('keeps what it knows where that is later, or where versions cannot be compared', () => {
      watcher.absorb(written(3));
      watcher.absorb(written(2));
      watcher.absorb(written(0, { resourceVersion: 'opaque' }));
      expect(changes).to.deep.equal([]);
    });

    it('keeps the object where the answer to a write is one of another kind, as of its scale', () => {
      watcher.absorb({ ...written(5), apiVersion: 'autoscaling/v1', kind: 'Scale' });
      expect(changes).to.deep.equal([]);
    });

    it('restores nothing that is gone, and nothing that has taken its place', async () => {
      watcher.absorb(written(5, { deletionTimestamp: '2026-11-23T00:00:00Z' }));
      watcher.absorb(written(5, {}, 'u2'));
      expect(changes).to.deep.equal([]);
      watcher.absorb(written(5, { deletionTimestamp: '2026-11-23T00:00:00Z', finalizers: ['x'] }));
      api.lastWatch.send('DELETED', written(6));
      await settle();
      watcher.absorb(written(5));
      expect(changes).to.deep.equal(['a@3 a@5', 'a@5 -']);
    });

    it('keeps it over a list that began before it', async () => {
      const list = api.onList;
      api.onList = () => {
        queueMicrotask(() => watcher.absorb(written(5)));
        return undefined;
      };
      api.version = 4;
      api.lastWatch.fail(gone());
      await clock.advance(1_000);
      api.onList = list;
      expect(changes).to.deep.equal(['a@3 a@5']);
    });

    it('follows a list that shows less, as after a restored backup of the cluster', async () => {
      watcher.absorb(written(9));
      api.objects = [written(4)];
      api.version = 4;
      api.lastWatch.fail(gone());
      await clock.advance(1_000);
      expect(changes).to.deep.equal(['a@3 a@9', 'a@9 a@4']);
    });
  });

  it('keeps nothing but the metadata of a written object that it lists by its metadata', async () => {
    const metadata = { ...thing('a', 1).metadata, uid: 'u1' };
    api.objects = [{ ...thing('a', 1), metadata }];
    await start({ resource: { ...THING, isListedByMetadata: true } });
    watcher.absorb({
      ...thing('a', 2),
      metadata: { ...metadata, resourceVersion: '2' },
      data: { key: 'secret' },
    });
    expect(watcher.get('ns/a')?.metadata.resourceVersion).to.equal('2');
    expect(watcher.get('ns/a')).not.to.have.property('data');
  });
});
