import { expect } from 'chai';
import { runKubectl } from '../../launch/kubectl.ts';
import { RELEASE } from '../../launch/release.ts';
import { cluster, kubectl } from './installation.ts';

/** What the console's own token allows, should an attacker take over the program that browsers reach. */
describe("the console's own rights", () => {
  const CONSOLE = `system:serviceaccount:berth:${RELEASE}-console`;
  const NAME = 'e2e-made-by-console';
  const create = (secret: object) => {
    const object = { apiVersion: 'v1', kind: 'Secret', ...secret };
    return runKubectl(cluster, ['create', `--as=${CONSOLE}`, '-f', '-'], JSON.stringify(object));
  };
  after(() => kubectl('delete', 'secret', NAME, '--ignore-not-found'));

  it('make Secrets for keys of buckets', async () => {
    await create({ metadata: { name: NAME }, stringData: { accessKeyId: 'a' } });
  });

  it('make none that asks for the token of a service account', async () => {
    const annotations = { 'kubernetes.io/service-account.name': `${RELEASE}-operator` };
    const refusal = await create({
      metadata: { name: 'berth-signing-secret', namespace: 'berth', annotations },
      type: 'kubernetes.io/service-account-token',
    }).then(
      () => 'it was made',
      (error: Error) => error.message,
    );
    expect(refusal).to.contain('the console makes Secrets of the type Opaque only');
  });
});
