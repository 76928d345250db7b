/** The images of a pod, as this installation pulls them. */
import type { ModelDeploymentSpec } from '../../contract/model-deployment.ts';
import { PRESETS } from '../engines/presets.ts';
import type { OperatorSettings } from '../settings.ts';

/** Puts the registry of the installation before an image; Docker Hub's own name is dropped, as mirrors expect. */
export function prefixImage(image: string, registry: string): string {
  return registry === '' ? image : `${registry.replace(/\/+$/, '')}/${image.replace(/^docker\.io\//, '')}`;
}

/** An image that the spec names is taken as it is. */
export function engineImage(
  { engine }: Pick<ModelDeploymentSpec, 'engine'>,
  gpus: number,
  settings: Pick<OperatorSettings, 'engineImages' | 'imageRegistry' | 'simulatorImage'>,
): string {
  if (engine.image) return engine.image;
  const image = settings.engineImages[engine.preset] ?? PRESETS[engine.preset].image(gpus);
  return prefixImage(image ?? settings.simulatorImage, settings.imageRegistry);
}
