/** The volume with which an engine's command signals to the gateway what the engine itself does not report. */
import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { ENGINE_NOTES } from '../engines/engine.ts';
import { PRESETS } from '../engines/presets.ts';

const NAME = 'gateway-engine-notes';

export interface EngineNotes {
  /** The file, in both containers. */
  memoryMark: string;
  volume: V1Volume;
  mount: V1VolumeMount;
}

/** Undefined for engines that need none, and if the spec has its own command. */
export function buildEngineNotes({ engine }: ModelDeploymentSpec): EngineNotes | undefined {
  const { memoryMark } = PRESETS[engine.preset];
  if (memoryMark === undefined || engine.command !== undefined) return undefined;
  return {
    memoryMark,
    volume: { name: NAME, emptyDir: { sizeLimit: '1Mi' } },
    mount: { name: NAME, mountPath: ENGINE_NOTES },
  };
}
