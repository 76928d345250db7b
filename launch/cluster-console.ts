/** The user of `make cluster`'s console, without permissions beyond the first workspace. */
import type { Cluster } from '../cluster/layout.ts';
import { applyObjects, runKubectl } from './kubectl.ts';
import { RELEASE, WORKSPACES } from './release.ts';

const MEMBER = 'member';
/** With some settings the API server grants at most a day. */
const TOKEN_LIFE = '24h';

export const consoleURL = ({ domain }: Cluster): string => `http://console.${domain}`;

/** Creates the member, once. */
export async function applyMember(cluster: Cluster): Promise<void> {
  const metadata = { name: MEMBER, namespace: WORKSPACES.own };
  const rbac = 'rbac.authorization.k8s.io';
  await applyObjects(cluster, [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { ...metadata, name: `berth-${MEMBER}` },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: `${RELEASE}-member` },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
  ]);
}

/** A bearer token of the member. */
export async function createMemberToken(cluster: Cluster): Promise<string> {
  const create = ['create', 'token', MEMBER, '-n', WORKSPACES.own, `--duration=${TOKEN_LIFE}`];
  return (await runKubectl(cluster, create)).trim();
}
