/** How a deployment is reached from outside. */
import { z } from 'zod';
import { cel, objectName, stringMap } from './kubernetes-types.ts';

export const ROUTE_PRESETS = ['traefik', 'nginx', 'alb', 'gateway-api', 'none'] as const;
export type RoutePreset = (typeof ROUTE_PRESETS)[number];

export const ROUTE_VIA = ['Direct', 'Front'] as const;
export type RouteVia = (typeof ROUTE_VIA)[number];

export const modelRoute = z
  .object({
    enabled: z.boolean().default(true),
    host: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a DNS name')
      .optional()
      .describe('Host name; <name>--<namespace>.<domain> if absent.'),
    type: z.enum(['Ingress', 'HTTPRoute']).default('Ingress'),
    className: z
      .string()
      .max(253)
      .optional()
      .describe("Ingress class; the operator's, or the cluster's default, if absent."),
    gateway: z
      .object({
        name: objectName('Name of the Gateway.'),
        namespace: objectName('Namespace of the Gateway.').optional(),
        sectionName: z.string().max(253).optional(),
      })
      .optional()
      .describe('Gateway of an HTTPRoute.'),
    tlsSecretName: objectName(
      "Secret with the host's certificate, in Berth's namespace with via Front; plain http or the controller's own certificate if absent.",
    ).optional(),
    preset: z
      .enum(ROUTE_PRESETS)
      .optional()
      .describe("Annotations that the contract's long and large answers need; the operator's if absent."),
    annotations: stringMap('Further annotations, of those that the operator allows.').optional(),
    via: z
      .enum(ROUTE_VIA)
      .optional()
      .describe("Direct to the pods, or through the front; the operator's if absent."),
  })
  .meta({
    ...cel({
      rule: "!has(self.type) || self.type != 'HTTPRoute' || has(self.gateway)",
      message: 'route.gateway is required with type HTTPRoute',
      fieldPath: '.gateway',
    }),
  })
  .prefault({});
