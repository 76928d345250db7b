import { expect } from 'chai';
import { LABELS } from '../../api/names.ts';
import { RELEASE, runHelm } from '../../launch/release.ts';
import { cluster, kubectl, waitUntil } from './installation.ts';

// The last file of the run: nothing is left after it.
describe('uninstalling', () => {
  const uninstall = () => runHelm(cluster, ['uninstall', RELEASE, '--wait', '--timeout=2m']);
  const listNames = async (...args: string[]) =>
    (await kubectl('get', ...args, '-o', 'name')).split('\n').filter(Boolean);

  it('is refused while ModelDeployments exist', async () => {
    const refusal = await uninstall().then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(refusal, 'helm uninstall went through').to.be.a('string');
    expect(await listNames('deployments', '-n', 'berth')).to.have.length(3);
  });

  it('leaves a release that can be kept: rolled back to itself, it is upgraded again', async () => {
    const history = JSON.parse(await runHelm(cluster, ['history', RELEASE, '-o', 'json'])) as {
      revision: number;
    }[];
    await runHelm(cluster, ['rollback', RELEASE, String(history.at(-1)!.revision)]);
    await runHelm(cluster, ['upgrade', RELEASE, 'charts/berth', '--reset-then-reuse-values']);
    expect(await listNames('deployments', '-n', 'berth')).to.have.length(3);
  });

  it('works once they are deleted, and leaves nothing but the definitions', async function () {
    this.timeout(600_000);
    await kubectl('delete', 'modeldeployments', '--all', '-A', '--timeout=240s');
    await waitUntil('the end of the model pods', 180, async () => {
      const left = await listNames('deployments,services,ingresses,pods', '-A', '-l', LABELS.deployment);
      return left.length === 0;
    });
    await kubectl('delete', 'apikeys,workspaces,storagecredentials', '--all', '-A', '--timeout=60s');
    await uninstall();
    expect(await listNames('deployments,statefulsets,services', '-n', 'berth')).to.deep.equal([]);
    expect(await listNames('crds')).to.include(
      'customresourcedefinition.apiextensions.k8s.io/modeldeployments.berth.dev',
    );
  });
});
