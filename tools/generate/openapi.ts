/** Prints the OpenAPI document of what any deployment may serve, with the default limits. */

import { MODEL_KINDS } from '../../api/engine-presets.ts';
import { MEDIA_PARAMETERS } from '../../api/media-engines.ts';
import { modelLimits, resolveLimits } from '../../api/model-limits.ts';
import { imageModel, videoModel } from '../../api/model-media.ts';
import { buildDocument } from '../../gateway/openapi/document.ts';

const EVERYTHING = {
  parameters: MEDIA_PARAMETERS,
  extraParams: ['any'],
  steps: { min: 1, max: 1000, default: 20 },
};

const document = buildDocument({
  kinds: MODEL_KINDS,
  title: 'Endpoint of a Berth deployment',
  servers: [
    {
      url: '{origin}',
      description: 'Each deployment has an origin of its own, which stands in its status.url.',
      variables: { origin: { default: 'http://127.0.0.1:8101' } },
    },
  ],
  limits: resolveLimits(modelLimits.parse({}), 'LLM'),
  enginePreset: 'custom',
  image: imageModel.parse({ tasks: ['txt2img', 'img2img'], ...EVERYTHING }),
  video: videoModel.parse({ tasks: ['t2v', 'i2v'], ...EVERYTHING }),
});

process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
