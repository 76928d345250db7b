import { expect } from 'chai';
import { ownedFields, ownsAll } from '../../../kube/managed-fields.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { SharedFields } from '../../../kube/shared-fields.ts';

const child = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    managedFields: [
      { manager: 'kube-controller-manager', operation: 'Update', fieldsV1: { 'f:status': {} } },
      {
        manager: 'berth',
        operation: 'Apply',
        fieldsV1: {
          'f:metadata': { 'f:ownerReferences': { [`k:{"uid":"${name}"}`]: {} }, 'f:labels': { 'f:app': {} } },
          'f:spec': { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:port': {} } } },
        },
      },
    ],
  },
});

describe('Shared managed fields', () => {
  it('keep one tree for all objects with the same managed fields, whatever their owner', () => {
    const fields = new SharedFields(['berth']);
    const [one, two] = [fields.trim(child('one')), fields.trim(child('two'))];
    expect(one.metadata.managedFields).to.have.length(1);
    expect(one.metadata.managedFields![0]).to.equal(two.metadata.managedFields![0]);
    expect(ownedFields(one, 'berth')).to.deep.equal(ownedFields(two, 'berth'));
  });

  it('still show what is owned and what another manager has taken', () => {
    const owned = ownedFields(new SharedFields(['berth']).trim(child('one')), 'berth');
    const wanted = { metadata: { labels: { app: 'a' }, ownerReferences: [{ uid: 'one' }] } };
    expect(ownsAll({ ...wanted, spec: { ports: [{ port: 80 }] } }, owned)).to.equal(true);
    expect(ownsAll({ ...wanted, spec: { ports: [{ port: 81 }] } }, owned)).to.equal(false);
  });
});
