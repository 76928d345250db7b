/** The version of a preset's image, by its tag. */
import type { EnginePreset } from '../../api/engine-presets.ts';
import { PRESETS } from '../../operator/engines/presets.ts';

/** `0.28.0`, or a build such as `b11382`. Throws if the tag has none. */
export function readPresetVersion(preset: EnginePreset): string {
  const image = PRESETS[preset].image('nvidia', 'LLM');
  const version = /:(?:.*[-v])?(\d+(?:\.\d+)+|b\d+)$/.exec(image ?? '')?.[1];
  if (!version) throw new Error(`the image of ${preset} tells no version: ${image}`);
  return version;
}
