/** The object of a deployment of a tiny model. */
import { type EngineName, REAL_ENGINES, type ServedKind } from './catalog.ts';

export interface TinyDeployment {
  /** Name of the deployment, and of the claim with the model. */
  name: string;
  kind: ServedKind;
  modelId: string;
  /** Overrides the spec that the engine's tiny model needs. */
  spec?: object;
  /** Overrides fields of its engine. */
  engine?: {
    args?: string[];
    family?: string;
    servedModelName?: string;
    port?: number;
    adapters?: { claimName: string };
  };
}

export function describeTiny(
  preset: EngineName,
  { name, kind, modelId, spec, engine }: TinyDeployment,
): { metadata: { name: string; namespace: string }; spec: object } & Record<string, unknown> {
  const { version, tinyModel } = REAL_ENGINES[preset];
  const { path, args, env } = tinyModel(kind);
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name, namespace: 'default' },
    spec: {
      kind,
      model: { id: modelId, source: { pvc: { claimName: name, path } } },
      engine: {
        preset,
        // It runs from PATH, not in the image.
        ...(/^\d/.test(version) && { version }),
        ...engine,
        args: [...args, ...(engine?.args ?? [])],
        env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
      },
      ...spec,
    },
  };
}
