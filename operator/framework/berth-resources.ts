/** The kinds of objects that Berth defines. */
import { apiKeyResource } from '../../api/api-key.ts';
import { API_VERSION, type ResourceDefinition } from '../../api/kubernetes-types.ts';
import { modelDeploymentResource } from '../../api/model-deployment.ts';
import { storageCredentialResource } from '../../api/storage-credential.ts';
import { webhookEndpointResource } from '../../api/webhook-endpoint.ts';
import { workspaceResource } from '../../api/workspace.ts';
import type { Resource } from '../../kube/resource.ts';

const custom = ({ kind, plural }: ResourceDefinition): Resource => ({
  apiVersion: API_VERSION,
  kind,
  plural,
  namespaced: true,
});

export const BERTH_RESOURCES = {
  ModelDeployment: custom(modelDeploymentResource),
  APIKey: custom(apiKeyResource),
  Workspace: custom(workspaceResource),
  StorageCredential: custom(storageCredentialResource),
  WebhookEndpoint: custom(webhookEndpointResource),
} as const satisfies Record<string, Resource>;
