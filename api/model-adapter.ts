/** A ModelDeployment without pods: a LoRA adapter, served by the engine of another deployment. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { cel, objectName } from './kubernetes-types.ts';

/** The ranks that vLLM can be started for. */
export const ADAPTER_RANKS = ['8', '16', '32', '64', '128', '256', '320', '512'] as const;

export const modelAdapter = z
  .object({
    deployment: z
      .string()
      .min(1)
      .max(45)
      .meta({
        description:
          'ModelDeployment of this namespace whose pods serve the adapter: an LLM with preset vllm and engine.adapters.',
        ...cel({ rule: 'self == oldSelf', message: 'adapterOf.deployment is immutable' }),
      }),
  })
  .describe(
    'Makes this deployment a LoRA adapter: it has its own host, keys, limits and prices, and no pods. Alpha: may change.',
  );

/** What the pods of a base are started with, so that no adapter restarts them. */
export const engineAdapters = z
  .object({
    claimName: objectName(
      'An existing claim with access mode ReadWriteMany, into which adapters are downloaded and from which the engine loads them.',
    ),
    max: z
      .int()
      .min(1)
      .max(64)
      .default(8)
      .describe('Adapters that the deployment serves. GPU memory is reserved for each, for at most 32.'),
    maxRank: z
      .enum(ADAPTER_RANKS)
      .default('16')
      .describe('Largest rank (r in adapter_config.json) that the engine has room for.'),
  })
  .describe(
    'Lets other ModelDeployments be LoRA adapters of this one (adapterOf), with preset vllm. Alpha: may change.',
  );

/** Below those that PyTorch and vLLM use among their processes (29500, 29550). */
const FIRST_PORT = 20_000;
const PORTS = 9_000;

/** The port on which the gateways of the base serve an adapter: by its name, so that it never changes. */
export function adapterPort(name: string): number {
  const digest = createHash('sha256').update(name).digest();
  return FIRST_PORT + (digest.readUInt32BE(0) % PORTS);
}
