/** Requests to an image engine: JSON for generation, a form with files for an edit. */
import type { EngineBody } from '../upstream/engine-request.ts';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import { buildForm, type PartFile } from './form.ts';
import type { ImageParameters } from './job.ts';

/** An image on disk: image/png, image/jpeg or image/webp. */
export type ImageFile = PartFile;

export interface EditFiles {
  images: readonly ImageFile[];
  mask: ImageFile | null;
  /** The engine's field for the mask. */
  maskField: string;
}

export interface ImageBody {
  /** At the engine. */
  path: string;
  headers: Record<string, string>;
  body: EngineBody;
}

/** Field names are those that SGLang Diffusion and vLLM-Omni share; engines ignore unknown ones. */
export function buildGenerationBody(servedModelName: string, parameters: ImageParameters): ImageBody {
  const body = Buffer.from(JSON.stringify(listFields(servedModelName, parameters)));
  return {
    path: '/v1/images/generations',
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    body,
  };
}

export function buildEditBody(
  servedModelName: string,
  parameters: ImageParameters,
  files: EditFiles,
): ImageBody {
  const imageName = files.images.length === 1 ? 'image' : 'image[]';
  const parts = [
    ...files.images.map((file, index) => ({ file, name: imageName, fileName: `image-${index}` })),
    ...(files.mask ? [{ file: files.mask, name: files.maskField, fileName: 'mask' }] : []),
  ].map((part) => ({ ...part, fileName: `${part.fileName}.${part.file.contentType.split('/')[1]}` }));
  const fields = Object.entries(listFields(servedModelName, parameters)).map(
    ([name, value]) => [name, writeFormValue(value)] as const,
  );
  return { path: '/v1/images/edits', ...buildForm(fields, parts) };
}

function listFields(servedModelName: string, parameters: ImageParameters): Record<string, unknown> {
  const { prompt, n, size, outputFormat } = parameters;
  return {
    model: servedModelName,
    prompt,
    n,
    size,
    // An engine's links do not work outside its pod.
    response_format: 'b64_json',
    ...(outputFormat && { output_format: outputFormat }),
    ...listExtraFields(parameters),
  };
}
