/** The chart's pre-delete hook: fails, and so stops the uninstall, while ModelDeployments exist. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../api/model-deployment.ts';
import { exitOnFatalErrors } from '../kit/program.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/connection.ts';
import { readWatchNamespaces } from './environment.ts';

exitOnFatalErrors('uninstall-guard');

const { kind, plural } = modelDeploymentResource;
const RESOURCE = { apiVersion: API_VERSION, kind, plural, namespaced: true };
const SHOWN = 5;

const namespaces = readWatchNamespaces();
const client = createKubeClient({ config: loadKubeConfig(), userAgent: 'berth-uninstall-guard' });
try {
  const pages = await Promise.all(
    (namespaces.length > 0 ? namespaces : [undefined]).map((namespace) =>
      client.list(RESOURCE, { ...(namespace ? { namespace } : {}), limit: SHOWN }),
    ),
  );
  const left = pages
    .flatMap(({ items }) => items)
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  if (left.length > 0) {
    console.error(
      `ModelDeployments still exist, and nothing cleans up after them without the operator: ${left.slice(0, SHOWN).join(', ')}. ` +
        'Delete them (kubectl delete modeldeployments --all -A) and uninstall again, or uninstall with --no-hooks. To keep the ' +
        'release, run helm rollback to its last revision: Helm considers it partly removed and cannot upgrade it before that.',
    );
    process.exitCode = 1;
  }
} finally {
  await client.close();
}
