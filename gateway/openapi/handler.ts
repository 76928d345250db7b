/** Serves the OpenAPI document of a deployment (docs/api.md, "GET /openapi.json"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { GatewayState, Handler } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';

export function buildDocumentHandlers(
  config: (state: GatewayState) => GatewayConfig,
): Record<'openapi', Handler> {
  const documents = new WeakMap<GatewayConfig, unknown>();
  return {
    openapi: async (state) => {
      const current = config(state);
      // Loaded on first use: zod, which the schemas need, would slow the start of every pod.
      const { buildDeploymentDocument } = await import('./document.ts');
      const document = documents.get(current) ?? buildDeploymentDocument(current);
      documents.set(current, document);
      sendJSON(state.exchange, document);
    },
  };
}
