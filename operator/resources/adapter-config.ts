/** The configuration of an adapter, for the gateways of its base and for the fronts. */
import {
  buildGatewayConfig,
  type GatewayConfig,
  type InstallationSettings,
  type LiveScaling,
} from '../../api/gateway-config.ts';
import type { ServedAdapter } from './adapters.ts';
import { decideURL, type URLSettings } from './route.ts';

export function buildAdapterConfig(
  { model, base, port, path }: ServedAdapter,
  settings: URLSettings & Pick<InstallationSettings, 'documentationURL'>,
  live?: LiveScaling,
): GatewayConfig {
  const installation = { ...settings, baseURL: decideURL(model, settings) };
  return { ...buildGatewayConfig(model, installation, live), adapter: { base, port, path } };
}
