/** Which parameters a media model applies; all others are accepted and ignored (docs/api.md, "Model"). */
import type { SupportedTask } from '../../api/api-objects.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ImageModel, VideoModel } from '../../api/model-media.ts';

const IMAGE_EXTRAS = ['negative_prompt', 'seed', 'num_inference_steps', 'guidance_scale'] as const;
const VIDEO_EXTRAS = ['negative_prompt', 'seed', 'num_inference_steps', 'fps'] as const;
export type Extra = (typeof IMAGE_EXTRAS)[number] | (typeof VIDEO_EXTRAS)[number];

/** All of them where the model lists none; steps only with the range that is told with them. */
const listExtras = (all: readonly Extra[], { parameters, steps }: ImageModel | VideoModel): Extra[] =>
  all.filter(
    (extra) =>
      (parameters === undefined || parameters.includes(extra)) &&
      (extra !== 'num_inference_steps' || steps !== undefined),
  );

export const listImageExtras = (model: ImageModel): Extra[] => listExtras(IMAGE_EXTRAS, model);

/** A pinned model takes `fps` only to check it. */
export function listVideoExtras(model: VideoModel): Extra[] {
  const extras = listExtras(VIDEO_EXTRAS, model);
  return model.native ? [...extras.filter((extra) => extra !== 'fps'), 'fps'] : extras;
}

const DELIVERY = ['webhook_url', 'storage_credential_id'] as const;
const IMAGE_TASKS = {
  txt2img: ['prompt', 'n', 'size', 'response_format', ...DELIVERY],
  img2img: ['image', 'mask', 'prompt', 'n', 'size', 'response_format', ...DELIVERY],
} as const;
/** The form's names and those of the JSON route. */
const VIDEO_TASKS = {
  t2v: ['prompt', 'size', 'resolution', 'seconds', 'duration', ...DELIVERY],
  i2v: ['input_reference', 'prompt', 'size', 'seconds', ...DELIVERY],
} as const;

/** `supported_parameters` of the Model object; undefined for models of text. */
export function describeSupportedParameters({
  image,
  video,
}: Pick<GatewayConfig, 'image' | 'video'>): Record<string, SupportedTask> | undefined {
  if (image) return describeTasks(image, IMAGE_TASKS, listImageExtras(image));
  if (video) return describeTasks(video, VIDEO_TASKS, listVideoExtras(video));
  return undefined;
}

function describeTasks<Task extends string>(
  model: { tasks: readonly Task[]; steps?: SupportedTask['num_inference_steps'] },
  basics: Record<Task, readonly string[]>,
  extras: readonly Extra[],
): Record<string, SupportedTask> {
  const hasSteps = extras.includes('num_inference_steps');
  // A request may call them by the name that the routes use, too.
  const names = extras.flatMap((extra) => (extra === 'num_inference_steps' ? ['steps', extra] : [extra]));
  const tasks = model.tasks.map((task): [Task, SupportedTask] => [
    task,
    {
      parameters: [...basics[task], ...names],
      ...(hasSteps && { num_inference_steps: { ...model.steps! } }),
    },
  ]);
  return Object.fromEntries(tasks);
}
