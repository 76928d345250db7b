/** The images of a pod, as this installation pulls them. */

import type { EnginePreset } from '../../api/engine-presets.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import type { ImageVendor } from '../engines/engine.ts';
import { PRESETS } from '../engines/presets.ts';
import { vendorOf } from './accelerators.ts';
import type { BuildSettings } from './settings.ts';

/** Prefixes an image with the installation's registry; Docker Hub's own name is dropped, as mirrors expect. */
export function prefixImage(image: string, registry: string): string {
  return registry === '' ? image : `${registry.replace(/\/+$/, '')}/${image.replace(/^docker\.io\//, '')}`;
}

export type ImageSettings = Pick<BuildSettings, 'engineImages' | 'imageRegistry' | 'simulatorImage'>;

/** An image from the spec is used unchanged. Undefined: there is none for the accelerators. */
export function engineImage(spec: ModelDeploymentSpec, settings: ImageSettings): string | undefined {
  const { image } = spec.engine;
  if (image) return image;
  const found = findPresetImage(spec, settings);
  return found && prefixImage(found, settings.imageRegistry);
}

/** The vendor of the preset's own image, if used; undefined: the spec or the installation sets another image or command. */
export function findPresetImageVendor(
  spec: ModelDeploymentSpec,
  { engineImages }: Pick<ImageSettings, 'engineImages'>,
): ImageVendor | undefined {
  const { image, command, preset } = spec.engine;
  const vendor = vendorOf(spec);
  return image || command || findInstalledImage(preset, vendor, engineImages) ? undefined : vendor;
}

function findPresetImage(
  spec: ModelDeploymentSpec,
  { engineImages, simulatorImage }: ImageSettings,
): string | undefined {
  const { preset } = spec.engine;
  if (preset === 'simulator') return engineImages.simulator ?? simulatorImage;
  const vendor = vendorOf(spec);
  if (vendor === undefined) return undefined;
  return findInstalledImage(preset, vendor, engineImages) ?? PRESETS[preset].image(vendor, spec.kind);
}

const findInstalledImage = (
  preset: EnginePreset,
  vendor: ImageVendor | undefined,
  engineImages: ImageSettings['engineImages'],
): string | undefined => engineImages[vendor === 'amd' ? (`${preset}-rocm` as const) : preset];
