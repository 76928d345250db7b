/** The revision of the sidecar that this installation creates, the same for all deployments. */
import { createHash } from 'node:crypto';
import { stableStringify } from '../../kube/object.ts';
import { prefixImage } from './images.ts';
import type { BuildSettings } from './settings.ts';

/** Hash of the version, image and settings of sidecars, without secrets. */
export function sidecarRevision(settings: BuildSettings): string {
  const { version, gatewayResources, gatewayLogLevel, imagePullPolicy, redisURL, egress, storageURL } =
    settings;
  const image = sidecarImage(settings);
  const inputs = {
    version,
    image,
    gatewayResources,
    gatewayLogLevel,
    imagePullPolicy,
    redisURL,
    egress,
    storageURL,
  };
  return createHash('sha256').update(stableStringify(inputs)).digest('hex').slice(0, 10);
}

export const sidecarImage = ({
  gatewayImage,
  imageRegistry,
}: Pick<BuildSettings, 'gatewayImage' | 'imageRegistry'>): string => prefixImage(gatewayImage, imageRegistry);
