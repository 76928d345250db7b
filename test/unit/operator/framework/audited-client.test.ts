import { expect } from 'chai';
import type { KubeClient } from '../../../../kube/client.ts';
import { RESOURCES } from '../../../../kube/resource.ts';
import { auditWrites } from '../../../../operator/framework/audited-client.ts';

describe('the audit of what the operator writes', () => {
  const lines: object[] = [];
  const log = { info: (line: object) => void lines.push(line) } as never;
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'team', name: 'signing' } };
  const answering = {
    create: async () => secret,
    update: async () => secret,
    mergePatch: async () => secret,
    delete: async () => undefined,
  } as never as KubeClient;
  beforeEach(() => {
    lines.length = 0;
  });

  it('tells of each object that was created, patched or deleted, once the API server has done it', async () => {
    const client = auditWrites(answering, log);
    await client.create(RESOURCES.Secret, secret);
    await client.mergePatch(RESOURCES.Secret, { at: secret.metadata, patch: { data: { key: 'c2VjcmV0' } } });
    await client.delete(RESOURCES.Secret, secret.metadata);
    const base = { audit: true, kind: 'Secret', namespace: 'team', name: 'signing' };
    expect(lines).to.deep.equal(['create', 'patch', 'delete'].map((action) => ({ ...base, action })));
  });

  it('tells of nothing that failed, nor of events', async () => {
    const failing = { ...answering, create: () => Promise.reject(new Error('denied')) } as KubeClient;
    const error = await auditWrites(failing, log)
      .create(RESOURCES.Secret, secret)
      .catch((thrown: Error) => thrown);
    expect(error).to.have.property('message', 'denied');
    await auditWrites(answering, log).create(RESOURCES.Event, { ...secret, kind: 'Event' });
    expect(lines).to.deep.equal([]);
  });
});
