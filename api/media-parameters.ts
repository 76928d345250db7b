/** Which parameters a media model supports, by its spec and its engine. Pure. */
import type { GatewayConfig } from './gateway-config.ts';
import { findMediaEngine, MEDIA_PARAMETERS, type MediaParameter, type MediaTask } from './media-engines.ts';
import type { ImageModel, VideoModel } from './model-media.ts';

export type Extra = MediaParameter | 'extra_params';

/** Facts about a deployment's media, for parsing and describing its requests. */
export type MediaFacts = Pick<GatewayConfig, 'image' | 'video' | 'enginePreset'>;

/** In the order of error messages; `task` has to be one of the model's kind. */
export function listExtras({ image, video, enginePreset }: MediaFacts, task: MediaTask): Extra[] {
  const model: ImageModel | VideoModel = image ?? video!;
  const native = video?.native;
  const { reads, usual = reads, extraParams } = findMediaEngine(enginePreset);
  const applied = MEDIA_PARAMETERS.filter(
    (parameter) =>
      (model.parameters === undefined
        ? usual[task].includes(parameter)
        : model.parameters.includes(parameter) && reads[task].includes(parameter)) &&
      // Listed with its range, or not at all.
      (parameter !== 'num_inference_steps' || model.steps !== undefined) &&
      !(native && parameter === 'fps'),
  );
  return [
    ...applied,
    ...(model.extraParams && extraParams.includes(task) ? ['extra_params' as const] : []),
    // For a pinned model it is only validated.
    ...(native ? ['fps' as const] : []),
  ];
}
