/** How a deployment is exposed. */
import { z } from 'zod';
import { objectName, stringMap } from './kubernetes-types.ts';

export const ROUTE_PRESETS = ['traefik', 'nginx', 'alb', 'gateway-api', 'none'] as const;
export type RoutePreset = (typeof ROUTE_PRESETS)[number];

export const ROUTE_VIA = ['Direct', 'Front'] as const;
export type RouteVia = (typeof ROUTE_VIA)[number];

export const ROUTE_BALANCES = ['Prefix', 'LeastLoaded'] as const;
export type RouteBalance = (typeof ROUTE_BALANCES)[number];

export const modelRoute = z
  .object({
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether the endpoint is reachable from outside the cluster.'),
    host: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a DNS name')
      .optional()
      .describe('Host name; <name>--<namespace>.<domain> if absent.'),
    type: z
      .enum(['Ingress', 'HTTPRoute'])
      .optional()
      .describe('HTTPRoute where a Gateway is named here or by the operator, else Ingress, if absent.'),
    className: z
      .string()
      .max(253)
      .optional()
      .describe("Ingress class; the operator's, or the cluster's default, if absent."),
    gateway: z
      .object({
        name: objectName('Name of the Gateway.'),
        namespace: objectName('Namespace of the Gateway.').optional(),
        sectionName: z.string().max(253).optional().describe('Listener of the Gateway; all if absent.'),
      })
      .optional()
      .describe("Gateway of an HTTPRoute, in this namespace if it names none; the operator's if absent."),
    tlsSecretName: objectName(
      "Secret with the host's certificate; with via Front one in Berth's namespace, of those that the operator allows; plain http or the controller's own certificate if absent.",
    ).optional(),
    preset: z
      .enum(ROUTE_PRESETS)
      .optional()
      .describe(
        "Annotations that long and large answers need; the operator's if absent. nginx is for ingress-nginx, which was retired in March 2026.",
      ),
    annotations: stringMap('Further annotations, of those that the operator allows.').optional(),
    cors: z
      .object({
        origins: z
          .array(
            z
              .string()
              .max(300)
              .regex(
                /^(\*|https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?)$/,
                'must be * or an origin such as https://app.example.com',
              ),
          )
          .min(1)
          .max(20)
          .describe('Origins of those pages; * = any.'),
      })
      .optional()
      .describe('Pages of other origins that may call the endpoint from a browser; none if absent.'),
    via: z
      .enum(ROUTE_VIA)
      .optional()
      .describe("Direct to the pods, or through the front; the operator's if absent."),
    balance: z
      .enum(ROUTE_BALANCES)
      .optional()
      .describe(
        'Prefix: requests with a common prefix go to the replica that has it cached, unless that one is busier than others. LeastLoaded: a request stays where it arrives while there is a slot, else goes to the replica with the least to do. Prefix with kind LLM if absent, LeastLoaded with others and where the engine caches no prefixes.',
      ),
  })
  .prefault({});

interface Balanced {
  kind: string;
  engine: { args: readonly string[] };
  route: { balance?: RouteBalance | undefined };
}

/** Flags of vLLM, SGLang and llama.cpp. */
const NO_PREFIX_CACHE = /^(--no-enable-prefix-caching|--disable-radix-cache|--no-cache-prompt)$/;

/** Whether the engine's prefix cache is disabled. */
export const hasNoPrefixCache = ({ args }: Balanced['engine']): boolean =>
  args.some((arg) => NO_PREFIX_CACHE.test(arg));

/** How a request is routed to a replica. */
export function decideBalance({ kind, engine, route }: Balanced): RouteBalance {
  if (route.balance) return route.balance;
  return kind === 'LLM' && !hasNoPrefixCache(engine) ? 'Prefix' : 'LeastLoaded';
}
