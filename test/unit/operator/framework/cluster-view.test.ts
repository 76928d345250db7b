import { expect } from 'chai';
import type { KubeClient } from '../../../../kube/client.ts';
import { silentLog } from '../../../../kube/log.ts';
import { isStub } from '../../../../kube/object.ts';
import { createClusterView } from '../../../../operator/framework/cluster-view.ts';
import { FakeApi, thing } from '../../kube/fake-api.ts';

describe('what the operator keeps of the cluster', () => {
  it('has every Workspace in full, however large, and of other objects only what there is room for', async () => {
    const api = new FakeApi();
    api.objects = [{ ...thing('workspace', 1), spec: { note: 'x'.repeat(600 * 1024) } }];
    const client = api.client as unknown as KubeClient;
    const front = { namespace: 'berth', service: 'front' };
    const view = createClusterView({ client, namespaces: [], front, log: silentLog });
    view.start();
    try {
      await view.waitForSync();
      expect(isStub(view.workspaces.get('ns/workspace')!)).to.equal(false);
      for (const watcher of [view.models, view.keys, view.credentials, view.endpoints])
        expect(isStub(watcher.get('ns/workspace')!)).to.equal(true);
    } finally {
      await view.stop();
    }
  });
});
