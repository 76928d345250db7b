import { expect } from 'chai';
import type { Heartbeat } from '../../../../api/redis-keys.ts';
import { PrefixBalance, type PrefixChoice } from '../../../../gateway/capacity/prefix-balance.ts';
import { deriveSeed, mixBits } from '../../../../gateway/capacity/prefix-hash.ts';
import { describeReplica } from '../../../support/heartbeat.ts';

const never = new AbortController().signal;
const SECRET = 'peer-token';
let now = 0;

interface Replica {
  beat: Heartbeat;
  balance: PrefixBalance;
  slots: { inflight: number; limit: number | null };
  /** Slots that it granted to peers. */
  taken: number;
  choices: PrefixChoice[];
  /** `isOlder`: of a version that does not report its load. */
  state: { isOn: boolean; isOpen: boolean; isLeaving: boolean; isSilent: boolean; isOlder: boolean };
}

/** Replicas that call each other directly, without a network. */
function startFleet(count: number): Replica[] {
  const replicas: Replica[] = Array.from({ length: count }, (_, index) => {
    const pod = `pod-${index}`;
    const slots = { inflight: 0, limit: null as number | null };
    const state = { isOn: true, isOpen: true, isLeaving: false, isSilent: false, isOlder: false };
    const choices: PrefixChoice[] = [];
    const others = () => replicas.filter((each) => each.beat.pod !== pod);
    const balance = new PrefixBalance({
      isOn: () => state.isOn,
      secret: SECRET,
      pod,
      slots,
      isOwnOpen: () => state.isOpen,
      isLeaving: () => state.isLeaving,
      list: () => others().map(({ beat }) => beat),
      peers: {
        listOpen: () => others().flatMap(({ beat, state: { isOpen } }) => (isOpen ? [beat] : [])),
        acquireBalanced: async (peer, inflight) => {
          const asked = replicas.find(({ beat }) => beat.pod === peer.pod)!;
          if (asked.state.isSilent) return { answer: { refusal: 'full' }, inflight: undefined };
          asked.balance.observe(pod, String(inflight));
          const hasPlace = asked.balance.hasShare();
          if (hasPlace) asked.slots.inflight++;
          if (hasPlace) asked.taken++;
          const release = () => asked.slots.inflight--;
          const target = { origin: peer.pod, pathPrefix: '', headers: {}, local: false, release };
          const answer = hasPlace ? { target } : { refusal: 'full' as const };
          return { answer, inflight: asked.state.isOlder ? undefined : String(asked.slots.inflight) };
        },
      },
      onChoice: (choice) => choices.push(choice),
      clock: { now: () => now },
    });
    return { beat: { ...describeReplica({ pod }), at: 1 }, balance, slots, taken: 0, choices, state };
  });
  return replicas;
}

/** All replicas report their load a second later; `isIdle`: after all requests have ended. */
function beat(replicas: readonly Replica[], { isIdle = false } = {}): void {
  now += 1_000;
  for (const { beat: heartbeat, slots } of replicas) {
    if (isIdle) slots.inflight = 0;
    Object.assign(heartbeat, { at: heartbeat.at + 1, inflight: slots.inflight });
  }
}

const prompt = (name: string) => [{ role: 'system', content: `${name} `.repeat(200) }];

/** Returns the pod where the request runs; it keeps its slot. */
async function send(gateway: Replica, parts: readonly unknown[]): Promise<string> {
  const prefix = gateway.balance.read(parts);
  const target = typeof prefix === 'number' ? await gateway.balance.acquire(prefix, never) : null;
  if (!target) gateway.slots.inflight++;
  return target?.origin ?? gateway.beat.pod;
}

/** A prefix that is routed from the gateway to this peer while all are idle. */
function findPrefix(gateway: Replica, { beat: { pod } }: Replica): number {
  const seeds = [gateway.beat.pod, pod].map((each) => deriveSeed(SECRET, each));
  for (let prefix = 1; ; prefix++) {
    const [own, other] = seeds.map((seed) => mixBits(prefix ^ seed));
    if (other! > own!) return prefix;
  }
}

describe('balancing by prefix', () => {
  it('leads the same prompt to the same replica, whichever one gets it', async () => {
    for (const name of ['harbour', 'bridge', 'garden', 'river']) {
      const replicas = startFleet(4);
      const pods = new Set<string>();
      for (const gateway of replicas.slice(0, 2)) pods.add(await send(gateway, prompt(name)));
      expect(pods, name).to.have.property('size', 1);
    }
  });

  it('uses all replicas for different prompts', async () => {
    const replicas = startFleet(4);
    const pods = new Set<string>();
    for (let index = 0; index < 40; index++) pods.add(await send(replicas[index % 4]!, prompt(`p${index}`)));
    expect(pods).to.have.property('size', 4);
  });

  it('splits a system prompt that all requests have by what follows it', async () => {
    const replicas = startFleet(4);
    const load = new Map<string, number>();
    for (let index = 0; index < 400; index++) {
      const parts = [...prompt('shared'), { role: 'user', content: `question ${index % 100}` }];
      const pod = await send(replicas[index % 4]!, parts);
      load.set(pod, (load.get(pod) ?? 0) + 1);
    }
    // 100 each if they were dealt out; by their hashes it depends on the secret.
    expect(Math.max(...load.values())).to.be.most(140);
    // From then on, repeated prompts are routed to the same replica.
    const parts = [...prompt('shared'), { role: 'user', content: 'question 7' }];
    beat(replicas, { isIdle: true });
    const first = await send(replicas[0]!, parts);
    expect(await send(replicas[1]!, parts)).to.equal(first);
  });

  it('leads a conversation to the same replica however many turns it has, while there are few others', async () => {
    const replicas = startFleet(4);
    const talks = Array.from({ length: 6 }, (_, talk) => [
      ...prompt('shared'),
      { role: 'user', content: `talk ${talk} `.repeat(50) },
    ]);
    const pods = talks.map(() => new Set<string>());
    for (let turn = 0; turn < 60; turn++)
      for (const [talk, parts] of talks.entries()) {
        const pod = await send(replicas[(turn + talk) % 4]!, parts);
        // By then all gateways have learned the common prefix.
        if (turn >= 20) pods[talk]!.add(pod);
        beat(replicas, { isIdle: true });
        parts.push({ role: 'assistant', content: `turn ${turn} of ${talk} `.repeat(10) });
      }
    expect(pods.map(({ size }) => size)).to.deep.equal(talks.map(() => 1));
  });

  it('soon knows a long system prompt that all requests have, however many beginnings it has', async () => {
    const replicas = startFleet(4);
    const ask = (gateway: Replica, question: number) =>
      send(gateway, [
        { role: 'system', content: 'a long one '.repeat(600) },
        { role: 'user', content: `question ${question} `.repeat(50) },
      ]);
    for (let question = 0; question < 60; question++) {
      await ask(replicas[question % 4]!, question);
      beat(replicas, { isIdle: true });
    }
    const pods = new Set<string>();
    for (let question = 100; question < 120; question++) {
      pods.add(await ask(replicas[question % 4]!, question));
      beat(replicas, { isIdle: true });
    }
    expect(pods).to.have.property('size', 4);
  });

  it('keeps all replicas within their share while all requests are the same', async () => {
    const replicas = startFleet(4);
    for (let index = 0; index < 400; index++) {
      await send(replicas[index % 4]!, prompt('same'));
      if (index % 20 === 0) beat(replicas);
    }
    for (const { slots } of replicas) expect(slots.inflight).to.be.most(130);
  });

  it('goes elsewhere while the replica does not answer, and asks it again after its next heartbeat', async () => {
    const replicas = startFleet(3);
    const usual = await send(replicas[0]!, prompt('one'));
    const owner = replicas.find(({ beat }) => beat.pod === usual)!;
    const gateway = replicas.find((each) => each !== owner)!;
    beat(replicas, { isIdle: true });
    owner.state.isSilent = true;
    expect(await send(gateway, prompt('one'))).not.to.equal(usual);
    owner.state.isSilent = false;
    expect(await send(gateway, prompt('one'))).not.to.equal(usual);
    beat(replicas, { isIdle: true });
    expect(await send(gateway, prompt('one'))).to.equal(usual);
  });

  it('counts a request that has ended at a peer once, however often its place is given back', async () => {
    const [gateway, peer] = startFleet(2);
    const prefix = findPrefix(gateway!, peer!);
    const target = await gateway!.balance.acquire(prefix, never);
    Object.assign(peer!.beat, { limit: 2 });
    gateway!.balance.observe(peer!.beat.pod, '3');
    for (let times = 0; times < 3; times++) target!.release();
    expect(gateway!.balance.acquire(prefix, never), 'full').to.equal(null);
  });

  it('counts what it gives a peer that does not say how much it has to do, as older ones do not', async () => {
    const [gateway, peer] = startFleet(2);
    const prefix = findPrefix(gateway!, peer!);
    Object.assign(peer!.beat, { limit: 1 });
    peer!.state.isOlder = true;
    const target = await gateway!.balance.acquire(prefix, never);
    expect(gateway!.balance.acquire(prefix, never), 'full').to.equal(null);
    target!.release();
    expect(gateway!.balance.acquire(prefix, never), 'free again').not.to.equal(null);
  });

  it('leaves a request where it came while the replica is about to leave, or none but it is open', async () => {
    const replicas = startFleet(2);
    for (const name of ['a1', 'b2', 'c3', 'd4', 'e5']) {
      replicas[0]!.state.isLeaving = true;
      expect(await send(replicas[0]!, prompt(name))).to.equal('pod-0');
      replicas[0]!.state.isLeaving = false;
      replicas[1]!.state.isOpen = false;
      expect(await send(replicas[0]!, prompt(name))).to.equal('pod-0');
      replicas[1]!.state.isOpen = true;
    }
  });

  it('gives everything to the others while its own engine takes nothing', async () => {
    const replicas = startFleet(2);
    replicas[0]!.state.isOpen = false;
    for (const name of ['a1', 'b2', 'c3', 'd4', 'e5'])
      expect(await send(replicas[0]!, prompt(name))).to.equal('pod-1');
  });

  it('reads no prompt where it is off or there is one replica', () => {
    const [first] = startFleet(2);
    first!.state.isOn = false;
    expect(first!.balance.read(prompt('any'))).to.equal(undefined);
    const [alone] = startFleet(1);
    expect(alone!.balance.read(prompt('any'))).to.equal(undefined);
  });

  it('keeps a short prompt where it came', async () => {
    const replicas = startFleet(4);
    for (const gateway of replicas)
      expect(await send(gateway, [{ role: 'user', content: 'Hello' }])).to.equal(gateway.beat.pod);
  });

  it('says where requests went', async () => {
    const replicas = startFleet(2);
    for (let index = 0; index < 20; index++) await send(replicas[0]!, prompt(`p${index}`));
    const [first] = replicas;
    expect(first!.choices.filter((choice) => choice === 'own')).to.have.length(first!.slots.inflight);
    expect(first!.choices.filter((choice) => choice === 'peer')).to.have.length(replicas[1]!.taken);
  });
});
