import { expect } from 'chai';
import { isConflict } from '../../../kube/api-error.ts';
import { createStatusWriter } from '../../../kube/apply.ts';
import { createEventRecorder } from '../../../kube/events.ts';
import { addFinalizer, removeFinalizer } from '../../../kube/finalizer.ts';
import { createLeaderLease, type LeaseSpec } from '../../../kube/leader-lease.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { pollUntil } from '../../support/poll.ts';

import { configMap, useApi } from './api.ts';
import { FaultProxy } from './fault-proxy.ts';

const { ConfigMap, Deployment, Event, Lease } = RESOURCES;
const TIMES = { durationMs: 10_000, renewDeadlineMs: 6_000, retryMs: 1_000 };

describe('On a real API server', () => {
  const api = useApi();
  let namespace: string;
  beforeEach(async () => {
    namespace = await api.makeNamespace();
  });

  describe('a leader lease', () => {
    const contend = (identity: string, server?: string) => {
      const lost: string[] = [];
      const client = api.connect({ server });
      const lease = createLeaderLease({
        client,
        namespace,
        name: 'leader',
        identity,
        onLost: (reason) => lost.push(reason),
        timing: TIMES,
      });
      return { lease, lost, client };
    };
    const holder = async () =>
      (await api.connect().get<KubeObject & { spec: LeaseSpec }>(Lease, { namespace, name: 'leader' })).spec;

    it('goes to one of several, and on at once when that one releases it', async () => {
      const contenders = ['a', 'b', 'c'].map((identity) => contend(identity));
      const won: string[] = [];
      const waits = contenders.map(async ({ lease }, i) => {
        if (await lease.acquire()) won.push('abc'[i]!);
      });
      await pollUntil(() => won.length > 0, 'a leader', 60_000);
      const [first] = won;
      expect((await holder()).holderIdentity).to.equal(first);
      const released = performance.now();
      await contenders['abc'.indexOf(first!)]!.lease.release();
      await pollUntil(() => won.length > 1, 'the next leader', 60_000);
      expect(performance.now() - released).to.be.below(TIMES.durationMs);
      expect(won).to.have.length(2);
      await Promise.all(contenders.map(({ lease }) => lease.release()));
      await Promise.all(waits);
      expect(contenders.flatMap(({ lost }) => lost)).to.deep.equal([]);
    });

    it('is held by renewing it, and taken over after its duration when the holder is cut off', async () => {
      const proxy = await FaultProxy.start(api.controlPlane.url);
      const first = contend('first', proxy.url);
      const second = contend('second');
      expect(await first.lease.acquire()).to.equal(true);
      const acquired = await holder();
      const waiting = second.lease.acquire();
      await pollUntil(() => first.client.count('update') >= 5, 'several renewals', 60_000);
      expect(second.lease.isLeading()).to.equal(false);
      expect((await holder()).renewTime! > acquired.renewTime!).to.equal(true);

      await proxy.close();
      expect(await waiting).to.equal(true);
      expect(first.lease.isLeading()).to.equal(false);
      expect(first.lost).to.deep.equal([`not renewed within ${TIMES.renewDeadlineMs} ms`]);
      expect(await holder()).to.include({ holderIdentity: 'second', leaseTransitions: 1 });
      await second.lease.release();
      await first.lease.release();
      expect((await holder()).holderIdentity).to.equal('');
    });

    it('is lost at once when somebody else holds it', async () => {
      const { lease, lost } = contend('first');
      await lease.acquire();
      const spec = { ...(await holder()), holderIdentity: 'usurper' };
      await api.connect().mergePatch(Lease, { at: { namespace, name: 'leader' }, patch: { spec } });
      await pollUntil(() => lost.length > 0, 'the loss', 60_000);
      expect(lost).to.deep.equal(['held by usurper']);
      await lease.release();
      expect((await holder()).holderIdentity).to.equal('usurper');
    });
  });

  describe('an event recorder', () => {
    it('records an event on an object and counts its repeats in one series', async () => {
      let now = 0;
      const client = api.connect();
      const object = await client.create(ConfigMap, configMap(namespace, 'subject'));
      const recorder = createEventRecorder({
        client,
        controller: 'example.dev/test',
        instance: 'test-0',
        clock: { now: () => now, date: () => new Date(), after: () => () => {} },
      });
      const note = { type: 'Warning', reason: 'Stuck', note: 'no node has room' } as const;
      for (let i = 0; i < 5; i++, now += 20_000) recorder.record(object, note);
      recorder.record(object, { type: 'Normal', reason: 'Started', note: 'ü'.repeat(1_000) });
      await recorder.flush();
      expect(recorder.dropped()).to.equal(0);

      const { items } = await client.list(Event, { namespace });
      const [stuck, started] = ['Stuck', 'Started'].map((reason) =>
        items.find((item) => item.reason === reason),
      );
      expect(items).to.have.length(2);
      expect(stuck).to.deep.include({
        note: note.note,
        type: 'Warning',
        reportingController: 'example.dev/test',
      });
      expect((stuck!.series as { count: number }).count).to.equal(5);
      expect(stuck!.regarding).to.deep.include({
        kind: 'ConfigMap',
        name: 'subject',
        uid: object.metadata.uid,
      });
      expect(Buffer.byteLength(started!.note as string)).to.be.at.most(1_024);
    });

    it('never throws, and counts what it failed to write', async () => {
      const client = api.connect();
      const recorder = createEventRecorder({ client, controller: 'example.dev/test', instance: 'test-0' });
      const orphan = { ...configMap('no-such-namespace', 'subject') };
      recorder.record(orphan, { type: 'Normal', reason: 'Started', note: '' });
      await recorder.flush();
      expect(recorder.dropped()).to.equal(1);
    });
  });

  describe('a status writer', () => {
    const time = '2026-01-01T00:00:00Z';
    const condition = (type: string, status = 'True') => ({
      type,
      status,
      reason: 'Tested',
      message: 'as tested',
      lastTransitionTime: time,
      lastUpdateTime: time,
    });

    it('writes only what changes, drops what it left out, and keeps what others wrote', async () => {
      const client = api.connect();
      const labels = { app: 'x' };
      await client.create(Deployment, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace, name: 'subject' },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      });
      const at = { namespace, name: 'subject' };
      const mine = createStatusWriter({ client, fieldManager: 'mine' });
      const theirs = createStatusWriter({ client, fieldManager: 'theirs' });
      const live = () => client.get(Deployment, at);
      const write = async (writer: typeof mine, status: object) =>
        writer.write(Deployment, await live(), { status });

      expect(await write(theirs, { conditions: [condition('Theirs')] })).to.equal(true);
      const status = { replicas: 1, conditions: [condition('Ready'), condition('Available')] };
      expect(await write(mine, status)).to.equal(true);
      const applies = client.count('apply');
      expect(await write(mine, { ...status, conditions: status.conditions.toReversed() })).to.equal(false);
      expect(client.count('apply')).to.equal(applies);

      expect(await write(mine, { conditions: [condition('Ready', 'False')] })).to.equal(true);
      const written = (await live()).status as {
        replicas?: number;
        conditions: { type: string; status: string }[];
      };
      expect(written.replicas ?? 0).to.equal(0);
      expect(written.conditions.map(({ type, status: value }) => `${type}=${value}`)).to.have.members([
        'Theirs=True',
        'Ready=False',
      ]);
    });
  });

  describe('finalizers', () => {
    it('are added and removed once, and not over somebody else’s change', async () => {
      const client = api.connect();
      const object = await client.create(ConfigMap, configMap(namespace, 'subject'));
      const finalizer = 'example.dev/cleanup';
      const call = { resource: ConfigMap, object, finalizer };
      expect(await addFinalizer(client, call)).to.equal(true);
      const stale = await addFinalizer(client, { ...call, finalizer: 'example.dev/other' }).catch(
        (error) => error,
      );
      expect(isConflict(stale)).to.equal(true);

      const live = await client.get(ConfigMap, object.metadata);
      expect(live.metadata.finalizers).to.include(finalizer);
      expect(await addFinalizer(client, { ...call, object: live })).to.equal(false);
      await client.delete(ConfigMap, object.metadata);
      const terminating = await client.get(ConfigMap, object.metadata);
      expect(await removeFinalizer(client, { ...call, object: terminating })).to.equal(true);
      expect(await client.find(ConfigMap, object.metadata)).to.equal(undefined);
      expect(await removeFinalizer(client, { ...call, object: terminating })).to.equal(false);
    });
  });
});
