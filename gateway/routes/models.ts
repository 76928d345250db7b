/** The one model of the endpoint (contract: GET /v1/models). */
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { ApiError, JSON_TYPE } from '../error-response.ts';
import type { Exchange } from '../exchange.ts';
import { describeSupportedParameters } from '../media/supported-parameters.ts';
import type { GatewayState } from '../middleware/request-id.ts';

export interface ModelServices {
  config: () => GatewayConfig;
  engineReady: () => boolean;
}

const RETRY_SECONDS = 5;

export function buildModelHandlers({ config, engineReady }: ModelServices) {
  const requireReady = () => {
    if (engineReady()) return;
    throw new ApiError('no_pod_available', 'No replica is ready: the engine is starting or has failed.', {
      retryAfter: RETRY_SECONDS,
    });
  };
  return {
    models: ({ exchange }: GatewayState) => {
      requireReady();
      sendJson(exchange, { object: 'list', data: [describeModel(config())] });
    },
    model: ({ exchange, parameter }: GatewayState) => {
      requireReady();
      const model = describeModel(config());
      if (decode(parameter) !== model.id)
        throw new ApiError('model_not_found', `This deployment serves the model "${model.id}" only.`, {
          param: 'model',
        });
      sendJson(exchange, model);
    },
  };
}

const describeModel = (config: GatewayConfig) => {
  const supported = describeSupportedParameters(config);
  return {
    id: config.modelId,
    object: 'model',
    created: config.created,
    owned_by: config.ownedBy,
    display_name: config.displayName,
    permission: [],
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

function sendJson({ res, headers }: Exchange, value: unknown): void {
  const text = JSON.stringify(value);
  res.writeHead(
    200,
    headers.concat('content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text))),
  );
  res.end(text);
}
