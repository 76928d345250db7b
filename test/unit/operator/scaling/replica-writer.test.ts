import { expect } from 'chai';
import { KubeApiError } from '../../../../kube/api-error.ts';
import { type ReplicaChange, ReplicaWriter } from '../../../../operator/scaling/replica-writer.ts';

const LIVE = {
  metadata: { namespace: 'team', name: 'chat', uid: 'u1', generation: 4 },
  spec: { replicas: 1 },
};
const CHANGE: ReplicaChange = { replicas: 3, reason: 'demand 41 needs 3 replicas', cause: 'demand' };

const FROZEN =
  'admission webhook "vdeployment.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: field is immutable';

/** `apply`, `scale`: status of the refusal of a Deployment and of its scale. */
function open({ apply, scale, message = FROZEN }: { apply?: number; scale?: number; message?: string }) {
  const written: object[] = [];
  const events: object[] = [];
  const answer = (code: number | undefined, result: object) =>
    code === undefined
      ? Promise.resolve(result)
      : Promise.reject(new KubeApiError({ code, reason: 'X', call: 'apply' }, message));
  const client = {
    apply: () => answer(apply, { metadata: { generation: 5 } }),
    mergePatch: (_: unknown, { at, patch }: { at: object; patch: object }) => {
      written.push({ at, patch });
      return answer(scale, { kind: 'Scale' });
    },
  };
  const onWritten = (key: string, change: object) => events.push({ key, ...change });
  const writer = new ReplicaWriter({ client, log: { warn: () => {} }, onWritten } as never);
  const write = () => writer.write(LIVE as never, () => CHANGE, new AbortController().signal);
  return { writer, write, written, events };
}

describe('the writer of replicas', () => {
  it('reports a write that the API server has accepted', async () => {
    const { write, written, events } = open({});
    await write();
    expect(written).to.deep.equal([]);
    expect(events).to.deep.equal([
      { key: 'team/chat', from: 1, to: 3, reason: CHANGE.reason, cause: 'demand' },
    ]);
  });

  it('writes by the scale subresource what Kueue refuses of a Deployment', async () => {
    const { writer, write, written, events } = open({ apply: 403 });
    await write();
    const at = { namespace: 'team', name: 'chat', subresource: 'scale' };
    expect(written).to.deep.equal([{ at, patch: { metadata: { uid: 'u1' }, spec: { replicas: 3 } } }]);
    expect(events).to.have.length(1);
    expect(writer.current(LIVE as never), 'before the watch shows it').to.equal(3);
  });

  it('knows what it wrote last while the watch lags behind two writes', async () => {
    const { writer, write } = open({ apply: 403 });
    await write();
    await writer.write(LIVE as never, () => ({ ...CHANGE, replicas: 4 }), new AbortController().signal);
    const seen = { metadata: { ...LIVE.metadata, generation: 5 }, spec: { replicas: 3 } };
    expect(writer.current(seen as never), 'after the first one is seen').to.equal(4);
  });

  for (const [what, refusals] of [
    ['is refused there, too', { apply: 403, scale: 403 }],
    ['fails for another reason', { apply: 500 }],
    [
      'another policy refuses',
      { apply: 403, message: 'denied: the label kueue.x-k8s.io/queue-name is missing' },
    ],
  ] as const)
    it(`reports nothing that ${what}`, async () => {
      const { writer, write, events } = open(refusals);
      const error = await write().catch((thrown: Error) => thrown);
      expect(error).to.be.instanceOf(KubeApiError);
      expect(events).to.deep.equal([]);
      expect(writer.current(LIVE as never)).to.equal(1);
    });
});
