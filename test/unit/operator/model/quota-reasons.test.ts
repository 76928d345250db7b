import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import { QuotaReasons } from '../../../../operator/model/quota-reasons.ts';

const SENTENCE = 'insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed';
const PENDING = { type: 'QuotaReserved', status: 'False', reason: 'Pending', message: SENTENCE };
const POD = { metadata: { namespace: 'team', name: 'chat-1', uid: 'uid-1' } };

/** `answer`: conditions of the only Workload, or the status of a refusal, by version. */
function open(answer: (version: string, namespace: string) => object[] | number) {
  const clock = { now: 0 };
  const calls: string[] = [];
  const warnings = { count: 0 };
  const client = {
    list: ({ apiVersion }: { apiVersion: string }, { namespace, labelSelector }: Record<string, string>) => {
      const version = apiVersion.split('/')[1]!;
      calls.push(`${version} ${namespace} ${labelSelector}`);
      const found = answer(version, namespace!);
      if (typeof found === 'number')
        return Promise.reject(new KubeApiError({ code: found, reason: 'X', call: 'list' }, 'no'));
      return Promise.resolve({ items: [{ status: { conditions: found } }] });
    },
  };
  const log = { warn: () => warnings.count++ };
  const reasons = new QuotaReasons({ client, now: () => clock.now, log } as never);
  const read = (namespace = 'team', uid = 'uid-1') =>
    reasons.read({ metadata: { ...POD.metadata, namespace, uid } } as never, new AbortController().signal);
  return { calls, warnings, clock, read };
}

describe('why Kueue holds a pod back', () => {
  it("is the sentence of the pod's Workload", async () => {
    const { calls, read } = open(() => [PENDING]);
    expect(await read()).to.equal(SENTENCE);
    expect(calls).to.deep.equal(['v1beta2 team kueue.x-k8s.io/job-uid=uid-1']);
  });

  it('is read of an older Kueue, too', async () => {
    const { calls, read } = open((version) => (version === 'v1beta2' ? 404 : [PENDING]));
    expect(await read()).to.equal(SENTENCE);
    await read('team', 'uid-2');
    expect(calls.map((call) => call.split(' ')[0])).to.deep.equal(['v1beta2', 'v1beta1', 'v1beta1']);
  });

  it('is a check of the queue once the quota is reserved', async () => {
    const checks = { type: 'Admitted', status: 'False', message: 'The workload has not all checks ready' };
    const { read } = open(() => [{ ...PENDING, status: 'True' }, checks]);
    expect(await read()).to.equal(checks.message);
  });

  it('is read again after a while, not at each change of the pod', async () => {
    const conditions = [PENDING];
    const { calls, clock, read } = open(() => conditions);
    await read();
    conditions[0] = { ...PENDING, message: 'the queue is stopped' };
    expect([await read(), calls.length]).to.deep.equal([SENTENCE, 1]);
    clock.now += 30_000;
    expect(await read()).to.equal('the queue is stopped');
  });

  for (const [what, code] of [
    ['the cluster has no Workloads', 404],
    ['they may not be read', 403],
  ] as const)
    it(`is unknown where ${what}, and not asked for at each turn`, async () => {
      const { calls, clock, read } = open(() => code);
      expect(await read()).to.equal(undefined);
      clock.now += 60_000;
      await read();
      expect(calls).to.have.length(2);
      clock.now += 600_000;
      await read();
      expect(calls).to.have.length(4);
    });

  it('is read in other namespaces where it may not be in one', async () => {
    const { read } = open((_, namespace) => (namespace === 'team' ? 403 : [PENDING]));
    expect(await read()).to.equal(undefined);
    expect(await read('other', 'uid-2')).to.equal(SENTENCE);
  });

  it('is not asked for during half a minute after a failure, which the log has once', async () => {
    const { calls, warnings, clock, read } = open(() => 500);
    for (const uid of ['uid-1', 'uid-2', 'uid-3']) await read('team', uid);
    expect(calls).to.have.length(1);
    clock.now += 30_000;
    await read();
    expect([calls.length, warnings.count]).to.deep.equal([2, 1]);
  });

  it('stays as it was while the API server fails', async () => {
    let isDown = false;
    const { clock, read } = open(() => (isDown ? 500 : [PENDING]));
    await read();
    isDown = true;
    clock.now += 30_000;
    expect(await read()).to.equal(SENTENCE);
  });
});
