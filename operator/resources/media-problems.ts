/** Image or video settings of a spec that its engine would refuse in each request. */
import { findMediaEngine } from '../../api/media-engines.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { type ImageModel, imageModel, type VideoModel, videoModel } from '../../api/model-media.ts';
import type { Problem } from '../status/problem.ts';

export function findMediaProblems({ spec }: ModelDeployment): Problem[] {
  const media = readMedia(spec);
  if (!media) return [];
  const { path, model, sizes } = media;
  const engine = findMediaEngine(spec.engine.preset);
  const { name, sideStep, maxSteps, maskField, extraParams } = engine;
  const problems: string[] = [];

  const odd = sizes.filter((size) => size.split('x').some((side) => Number(side) % sideStep !== 0));
  if (odd.length > 0)
    problems.push(
      `spec.${path}.${path === 'image' ? 'sizes' : 'resolutions'}: ${name} supports only sides that are multiples of ${sideStep}, not ${odd.slice(0, MAX_SHOWN).join(', ')}`,
    );
  if (model.steps && model.steps.max > maxSteps)
    problems.push(`spec.${path}.steps.max ${model.steps.max}: ${name} supports at most ${maxSteps} steps`);
  if (model.extraParams && !model.tasks.some((task) => extraParams.includes(task)))
    problems.push(
      `spec.${path}.extraParams: ${name} does not accept extra_params for these tasks: remove it`,
    );
  if ('mask' in model && model.mask === true && maskField === null)
    problems.push(`spec.image.mask: ${name} does not support masks: set it to false, or use another engine`);
  if ('references' in model && model.references! > engine.maxReferences)
    problems.push(
      `spec.video.references ${model.references}: ${name} accepts at most ${engine.maxReferences}`,
    );
  if (path === 'image' && spec.limits.imagesPerRequest > engine.maxImages)
    problems.push(
      `spec.limits.imagesPerRequest ${spec.limits.imagesPerRequest}: ${name} generates at most ${engine.maxImages} images per request`,
    );
  return problems.map((message) => ({ reason: 'MediaNotSupported', message }));
}

const MAX_SHOWN = 5;

interface Media {
  path: 'image' | 'video';
  model: ImageModel | VideoModel;
  sizes: readonly string[];
}

/** With defaults for what the spec omits. */
function readMedia({ kind, image, video }: ModelDeployment['spec']): Media | null {
  if (kind === 'Image') {
    const model = imageModel.parse(image ?? {});
    return { path: 'image', model, sizes: model.sizes };
  }
  if (kind !== 'Video') return null;
  const model = videoModel.parse(video ?? {});
  return { path: 'video', model, sizes: model.resolutions };
}
