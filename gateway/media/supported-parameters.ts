/** Parameters that a media model declares to apply; others are accepted and ignored (docs/api.md, "Model"). */
import type { SupportedTask } from '../../api/api-objects.ts';
import { findMediaEngine, type MediaTask } from '../../api/media-engines.ts';
import { listExtras, type MediaFacts } from '../../api/media-parameters.ts';

/** Whether edits may have a mask: the engine forwards it, and the model is not known to ignore it. */
export const takesMask = ({ image, enginePreset }: MediaFacts): boolean =>
  findMediaEngine(enginePreset).maskField !== null && image?.mask !== false;

const DELIVERY = ['webhook_url', 'storage_credential_id'] as const;
const IMAGE = ['prompt', 'n', 'size', 'response_format', ...DELIVERY] as const;
/** All names of a field: of forms and JSON, and for videos of both routes. */
const BASICS: Record<MediaTask, readonly string[]> = {
  txt2img: IMAGE,
  img2img: ['image', 'images', 'mask', ...IMAGE],
  t2v: ['prompt', 'size', 'resolution', 'seconds', 'duration', ...DELIVERY],
  i2v: ['input_reference', 'prompt', 'size', 'seconds', ...DELIVERY],
};

/** `supported_parameters` of the Model object; undefined for text models. */
export function describeSupportedParameters(facts: MediaFacts): Record<string, SupportedTask> | undefined {
  const model = facts.image ?? facts.video;
  if (!model) return undefined;
  return Object.fromEntries(model.tasks.map((task) => [task, describeTask(facts, task)]));
}

function describeTask(facts: MediaFacts, task: MediaTask): SupportedTask {
  const extras = listExtras(facts, task);
  const basics = BASICS[task].filter((name) => name !== 'mask' || takesMask(facts));
  // A request may also use the routes' names for them.
  const names = extras.flatMap((extra) => (extra === 'num_inference_steps' ? ['steps', extra] : [extra]));
  const { steps } = (facts.image ?? facts.video)!;
  return {
    parameters: [...basics, ...names],
    ...(extras.includes('num_inference_steps') && { num_inference_steps: { ...steps! } }),
  };
}
