import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { GatewayConfig } from '../../../../api/gateway-config.ts';
import { MEDIA_PARAMETERS } from '../../../../api/media-engines.ts';
import { imageModel, videoModel } from '../../../../api/model-media.ts';
import { EDIT_FORM } from '../../../../gateway/media/image-request.ts';
import { describeSupportedParameters } from '../../../../gateway/media/supported-parameters.ts';
import { buildDeploymentDocument } from '../../../../gateway/openapi/document.ts';
import { CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS } from '../../../../gateway/text/fields.ts';
import { describeModel } from '../../../support/model-replica.ts';

interface Operation {
  operationId: string;
  parameters?: { name: string; schema: object }[];
  requestBody?: {
    content: Record<
      string,
      { schema: { required: string[]; properties: Record<string, Record<string, unknown>> } }
    >;
  };
  responses: Record<string, { description: string; content?: object }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const read = (settings: Partial<GatewayConfig>): Document =>
  buildDeploymentDocument({
    ...describeModel(settings.kind && { kind: settings.kind }),
    ...settings,
  }) as unknown as Document;
const listRoutes = ({ paths }: Document): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
/** Lists the bodies of each encoding. */
const bodiesOf = ({ paths }: Document, path: string) =>
  Object.values(paths[path]!.post!.requestBody!.content).map(({ schema }) => schema);
const bodyOf = (document: Document, path: string) => bodiesOf(document, path)[0]!;

const IMAGE = imageModel.parse({ sizes: ['512x512', '768x768'], parameters: ['seed'] });
const VIDEO = videoModel.parse({ tasks: ['t2v', 'i2v'], resolutions: ['832x480'] });

describe('the OpenAPI document', () => {
  it('has the routes of the kind of model, and no others', () => {
    expect(listRoutes(read({ kind: 'LLM' }))).to.have.members([
      'POST /v1/chat/completions',
      'POST /v1/completions',
      'POST /v1/responses',
      'POST /v1/responses/input_tokens',
      'POST /v1/messages',
      'POST /v1/messages/count_tokens',
      'POST /tokenize',
      'POST /detokenize',
      'GET /tokenizer_info',
      'GET /v1/models',
      'GET /v1/models/{model}',
      'POST /v1/files',
      'GET /v1/files',
      'GET /v1/files/{id}/content',
      'GET /v1/files/{id}',
      'DELETE /v1/files/{id}',
      'POST /v1/batches',
      'GET /v1/batches',
      'POST /v1/batches/{id}/cancel',
      'GET /v1/batches/{id}',
      'GET /openapi.json',
    ]);
    expect(listRoutes(read({ kind: 'Embedding' }))).to.include('POST /v1/embeddings');
    expect(listRoutes(read({ kind: 'Rerank' }))).to.include.members([
      'POST /v1/rerank',
      'POST /v2/rerank',
      'POST /v1/score',
    ]);
    expect(listRoutes(read({ kind: 'Video', video: VIDEO }))).to.include.members([
      'POST /v1/videos',
      'POST /v1/videos/generations',
      'GET /v1/videos',
      'DELETE /v1/videos/{id}',
      'POST /v1/requests/{id}/cancel',
    ]);
  });

  it('has the text routes that the engine serves, and no others', () => {
    expect(read({ kind: 'LLM', routes: ['/v1/completions'] }).paths)
      .to.include.keys('/v1/completions', '/v1/models')
      .and.not.include.keys('/v1/chat/completions');
  });

  it('leaves edits out where the model takes no images, and the JSON route where it takes no text alone', () => {
    const image = read({ kind: 'Image', image: IMAGE });
    expect(image.paths)
      .to.have.property('/v1/images/generations')
      .and.not.to.have.property('/v1/images/edits');
    const video = read({ kind: 'Video', video: { ...VIDEO, tasks: ['i2v'] } });
    expect(video.paths).not.to.have.property('/v1/videos/generations');
    expect(bodyOf(video, '/v1/videos').required).to.include('input_reference');
  });

  it('names the model, its sizes and its limits', () => {
    const config = describeModel();
    const { properties } = bodyOf(read({ kind: 'Image', image: IMAGE }), '/v1/images/generations');
    expect(properties.model).to.deep.equal({ const: config.modelId });
    expect(properties.size).to.include({ default: '512x512' });
    expect(properties.size!.enum).to.deep.equal(['512x512', '768x768', 'auto', null]);
    expect(properties.n).to.include({ maximum: config.limits.imagesPerRequest });
    expect(properties.prompt).to.include({ maxLength: config.limits.promptCharacters });
  });

  it('allows a pinned video model its own duration and frame rate only', () => {
    const pinned = { ...VIDEO, native: { seconds: 5, fps: 16 } };
    const { properties } = bodyOf(read({ kind: 'Video', video: pinned }), '/v1/videos');
    expect(properties.seconds).to.include({ minimum: 4.5, maximum: 5.5 });
    expect(properties.fps).to.deep.equal({ const: 16 });
  });

  it('documents of the optional parameters those that the model applies', () => {
    for (const parameters of [undefined, [], ['seed'] as const]) {
      const image = imageModel.parse({ tasks: ['txt2img', 'img2img'], parameters });
      const supported = describeSupportedParameters({ image, video: null, enginePreset: 'simulator' })!;
      const document = read({ kind: 'Image', image });
      const told = { '/v1/images/generations': supported.txt2img!, '/v1/images/edits': supported.img2img! };
      for (const [path, task] of Object.entries(told)) {
        const bodies = bodiesOf(document, path);
        const documented = [...new Set(bodies.flatMap(({ properties }) => Object.keys(properties)))];
        expect(documented).to.include.members(task.parameters);
        expect(documented.filter((name) => !task.parameters.includes(name))).to.have.members([
          'model',
          'stream',
          'async',
        ]);
      }
    }
  });

  it('documents every field that an image route reads', () => {
    const image = imageModel.parse({
      tasks: ['img2img'],
      steps: { min: 1, max: 50, default: 20 },
      parameters: MEDIA_PARAMETERS,
      extraParams: ['cfg_truncation'],
    });
    const { properties } = bodyOf(read({ kind: 'Image', image }), '/v1/images/edits');
    expect(Object.keys(properties)).to.have.members([...EDIT_FORM.texts, ...EDIT_FORM.files.keys()]);
  });

  it('describes JSON as it describes the form, with objects in place of files', () => {
    const image = read({ kind: 'Image', image: imageModel.parse({ tasks: ['img2img'] }) });
    const video = (change: object) =>
      read({ kind: 'Video', video: videoModel.parse({ ...VIDEO, ...change }) });
    for (const [document, path, files] of [
      [image, '/v1/images/edits', ['image', 'mask']],
      [video({}), '/v1/videos', ['input_reference']],
      [video({ references: 3, tasks: ['i2v'] }), '/v1/videos', ['input_reference']],
    ] as const) {
      const { content } = document.paths[path]!.post!.requestBody!;
      expect(Object.keys(content)).to.deep.equal(['multipart/form-data', 'application/json']);
      const [form, json] = bodiesOf(document, path);
      const rename = (field: string) => (field === 'image' ? 'images' : field);
      expect(Object.keys(json!.properties)).to.have.members(Object.keys(form!.properties).map(rename));
      expect(json!.required).to.have.members(form!.required.map(rename));
      for (const field of files.map(rename)) {
        const { items = json!.properties[field] } = json!.properties[field]!;
        expect(items).to.deep.include({ required: ['image_url'] });
      }
    }
  });

  it('has no mask where the engine reads none, and the bounds of the engine', () => {
    const image = imageModel.parse({ tasks: ['img2img'] });
    const { properties } = bodyOf(
      read({ kind: 'Image', image, enginePreset: 'sglang-diffusion' }),
      '/v1/images/edits',
    );
    expect(properties).not.to.have.property('mask');
    expect(properties.seed).to.include({ minimum: 0 });
    const omni = bodyOf(read({ kind: 'Image', image, enginePreset: 'vllm-omni' }), '/v1/images/edits');
    expect(omni.properties.guidance_scale).to.include({ minimum: 0, maximum: 20 });
  });

  it('lists the possible codes of each status', () => {
    const { responses } = read({ kind: 'LLM' }).paths['/v1/chat/completions']!.post!;
    expect(responses['429']!.description)
      .to.contain('`rate_limit_exceeded`')
      .and.to.contain('`replica_saturated`');
    expect(Object.keys(responses)).to.include.members(['200', '400', '401', '413', '503', '504']);
  });

  const samples = [
    'text',
    '',
    0,
    1,
    -1,
    1.5,
    true,
    false,
    {},
    [],
    ['a'],
    [1],
    [1.5],
    [[1]],
    [[]],
    [{}],
    ['a', 1],
    'float',
    'base64',
  ];
  for (const [name, fields] of Object.entries({ CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS }))
    it(`describes the fields of ${name} as they are checked`, () => {
      const ajv = new Ajv2020({ strict: false });
      for (const [field, { schema, isValid }] of Object.entries(fields)) {
        const validate = ajv.compile(schema);
        for (const sample of samples)
          expect(validate(sample), `${field}: ${JSON.stringify(sample)}`).to.equal(isValid(sample));
      }
    });
});
