/**
 * `make generate` writes all that is generated; with --verify it only lists what is stale (`make verify`). Both fail for a rule of a
 * definition that `make run` could not check.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { apiKeyResource } from '../../api/api-key.ts';
import type { ResourceDefinition } from '../../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../../api/model-deployment.ts';
import { storageCredentialResource } from '../../api/storage-credential.ts';
import { webhookEndpointResource } from '../../api/webhook-endpoint.ts';
import { workspaceResource } from '../../api/workspace.ts';
import { compileRules } from '../../kube/memory/cel-rules.ts';
import { writeValuesSchema } from './chart-values.ts';
import { buildCustomResource, formatCustomResource } from './custom-resource.ts';
import { writeDashboards } from './dashboards/grafana.ts';
import { writeEnvironmentPage } from './environment-page.ts';
import { writeConditionPage, writeErrorPage } from './pages.ts';
import { writeResourcesPage } from './resources-page.ts';
import { writeValuesPage } from './values-page.ts';

const RESOURCES: ResourceDefinition[] = [
  modelDeploymentResource,
  workspaceResource,
  apiKeyResource,
  webhookEndpointResource,
  storageCredentialResource,
];

/** Every generated file with its content. The CRDs are in the chart, since Helm reads no other folder. */
function listGeneratedFiles(): Map<string, string> {
  const files = new Map<string, string>([
    ['docs/errors.md', writeErrorPage()],
    ['docs/conditions.md', writeConditionPage()],
    ['docs/resources.md', writeResourcesPage(RESOURCES)],
    ['docs/values.md', writeValuesPage()],
    ['docs/environment.md', writeEnvironmentPage()],
    ['charts/berth/values.schema.json', writeValuesSchema()],
    ...writeDashboards(),
  ]);
  for (const resource of RESOURCES)
    files.set(`charts/berth/files/crds/${resource.plural}.yaml`, formatCustomResource(resource));
  return files;
}

for (const resource of RESOURCES) {
  const [version] = buildCustomResource(resource).spec.versions;
  compileRules(version!.schema.openAPIV3Schema, resource.kind);
}

const verifyOnly = process.argv.includes('--verify');
const stale: string[] = [];
for (const [path, content] of listGeneratedFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === content) continue;
  stale.push(path);
  if (verifyOnly) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
if (stale.length > 0)
  console.log(`${verifyOnly ? 'stale, run make generate' : 'written'}: ${stale.join(', ')}`);
if (verifyOnly && stale.length > 0) process.exitCode = 1;
