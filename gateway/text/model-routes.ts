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
      const model = describeModel(config(state), contextLength());
      const list: ModelList = { object: 'list', data: [model] };
      sendJSON(state.exchange, isAnthropic(state) ? listForAnthropic(model) : list);
    },
    model: (state: GatewayState) => {
      requireReady(state);
      const model = describeModel(config(state), contextLength());
      if (decode(state.parameter) !== model.id)
        throw new ApiError('model_not_found', `This deployment serves the model "${model.id}" only.`, {
          param: 'model',
        });
      sendJSON(state.exchange, isAnthropic(state) ? describeForAnthropic(model) : model);
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

const isAnthropic = ({ exchange }: GatewayState): boolean => exchange.dialect === 'anthropic';

const listForAnthropic = (model: ModelObject) => ({
  data: [describeForAnthropic(model)],
  first_id: model.id,
  last_id: model.id,
  has_more: false,
});

/** As Anthropic's API describes its models. */
const describeForAnthropic = ({ id, display_name, created, max_model_len }: ModelObject) => ({
  type: 'model',
  id,
  display_name,
  created_at: new Date(created * 1_000).toISOString(),
  // Prompt and output share it.
  max_input_tokens: max_model_len ?? null,
  max_tokens: max_model_len ?? null,
  capabilities: null,
  deprecated_at: null,
  lifecycle: 'active',
  line: null,
  retires_at: null,
});

function decode(parameter: string): string | null {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return null;
  }
}
