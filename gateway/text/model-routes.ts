/** The one model of the endpoint (docs/api.md, "GET /v1/models"). */
import type { ModelList, ModelObject } from '../../api/api-objects.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { ROUTES } from '../http/routes.ts';
import { explainMissingEngine } from '../http/unavailability.ts';
import { describeSupportedParameters } from '../media/supported-parameters.ts';

export interface ModelServices {
  config: (state: GatewayState) => GatewayConfig;
  /** Whether the model is available. */
  isReady: (state: GatewayState) => boolean;
  /** Context length; null while unknown. */
  contextLength: () => number | null;
}

export function buildModelHandlers({ config, isReady, contextLength }: ModelServices) {
  const requireReady = (state: GatewayState) => {
    if (isReady(state)) return;
    throw explainMissingEngine(config(state));
  };
  return {
    models: (state: GatewayState) => {
      requireReady(state);
      const list: ModelList = { object: 'list', data: [describeModel(config(state), contextLength())] };
      sendJSON(state.exchange, list);
    },
    model: (state: GatewayState) => {
      requireReady(state);
      const model = describeModel(config(state), contextLength());
      if (decode(state.parameter) !== model.id)
        throw new ApiError('model_not_found', `This deployment serves the model "${model.id}" only.`, {
          param: 'model',
        });
      sendJSON(state.exchange, model);
    },
  };
}

const describeModel = (config: GatewayConfig, contextLength: number | null): ModelObject => {
  const supported = describeSupportedParameters(config);
  return {
    id: config.modelId,
    object: 'model',
    created: config.created,
    owned_by: config.ownedBy,
    display_name: config.displayName,
    permission: [],
    routes: ROUTES.listInference(config),
    ...(contextLength !== null && { max_model_len: contextLength }),
    ...(supported && { supported_parameters: supported }),
  };
};

function decode(parameter: string): string | null {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return null;
  }
}
