/** Code examples: a call of a deployment's endpoint as one would begin. Pure. */
import type { DeploymentView } from '../../api.ts';
import { type EndpointCall, writeCallSnippet } from './call-snippets.ts';
import type { Language } from './sdk-frames.ts';

type Described = Pick<DeploymentView, 'kind' | 'modelId' | 'media'> & { baseURL: string };

export const buildSnippet = (deployment: Described, language: Language): string =>
  writeCallSnippet(deployment.baseURL, buildExample(deployment), language);

function buildExample({ kind, modelId: model, media }: Described): EndpointCall {
  const [size = '1024x1024'] = media?.sizes ?? [];
  switch (kind) {
    case 'LLM':
      return { kind, body: { model, messages: [{ role: 'user', content: 'Hello!' }] } };
    case 'Embedding':
      return { kind, body: { model, input: 'A harbor at dawn' } };
    case 'Rerank':
      return {
        kind,
        body: {
          model,
          query: 'Where do ships dock?',
          documents: ['Bread is baked at night.', 'Ships dock at a berth.'],
        },
      };
    case 'Transcription':
      return { kind, body: { model }, files: { file: 'recording.wav' } };
    case 'Speech':
      return { kind, body: { model, voice: 'default', input: 'A ship leaves at dawn.' } };
    case 'Image':
      return { kind, body: { model, prompt: 'A harbor at dawn', size } };
    case 'Video':
      return {
        kind,
        body: { model, prompt: 'A ship leaves', seconds: String(media?.native?.seconds ?? 4), size },
      };
  }
}
