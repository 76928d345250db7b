import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../api/names.ts';
import { KubeApiError } from '../../../../kube/api-error.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { WeightsPrefetch } from '../../../../operator/model/weights-prefetch.ts';

const live = { metadata: { name: 'chat', namespace: 'team', uid: 'u' } } as unknown as KubeObject;
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'chat-prefetch', namespace: 'team', annotations: { [ANNOTATIONS.prefetched]: 'one' } },
} as unknown as KubeObject;

describe('a prefetch that the API server does not take', () => {
  const open = (code: number, reason: string) => {
    const calls: string[] = [];
    const client = {
      find: async () => undefined,
      create: async () => {
        calls.push('create');
        throw new KubeApiError({ code, reason, call: 'create jobs' }, 'no');
      },
    };
    const log = { info: () => {}, warn: () => calls.push('warn') };
    type Context = ConstructorParameters<typeof WeightsPrefetch>[0];
    const prefetch = new WeightsPrefetch({ client, log } as unknown as Context);
    return { calls, ensure: () => prefetch.ensure(live, job, new AbortController().signal) };
  };

  it('keeps no deployment from its pods where a quota refuses it or nobody runs Jobs, and is not asked for again and again', async () => {
    for (const [code, reason] of [
      [403, 'Forbidden'],
      [422, 'Invalid'],
      [404, 'NotFound'],
    ] as const) {
      const { calls, ensure } = open(code, reason);
      await ensure();
      await ensure();
      expect(calls).to.deep.equal(['create', 'warn']);
    }
  });

  it('is tried again where the server only failed', async () => {
    const { ensure } = open(500, 'InternalError');
    expect(await ensure().catch((error: Error) => error.name)).to.equal('KubeApiError');
  });
});
