/** What a video engine is sent: a form, or JSON where an old engine takes no form without a file. */
import type { Readable } from 'node:stream';
import { listExtraFields, writeFormValue } from './extra-fields.ts';
import { buildForm, type FormFile } from './form.ts';
import type { VideoParameters } from './job.ts';

/** An image that a video begins with, or follows, on disk. */
export interface ReferenceFile extends FormFile {
  fileName: string;
}

export interface VideoBody {
  headers: Record<string, string>;
  /** A fresh body each time, for one that was not sent may be sent once more. */
  open(): Buffer | Readable;
}

/** `name`: the engine's, of several references. */
export function buildVideoForm(
  servedModelName: string,
  parameters: VideoParameters,
  references: { files: readonly ReferenceFile[]; name: string },
): VideoBody {
  const fields = Object.entries(listFields(servedModelName, parameters)).map(
    ([name, value]) => [name, writeFormValue(value)] as const,
  );
  const name = references.files.length > 1 ? references.name : 'input_reference';
  const parts = references.files.map((file) => ({
    name,
    fileName: file.fileName.replace(/[^\w.-]/g, '_').slice(-100),
    file,
  }));
  return buildForm(fields, parts);
}

export function buildVideoJSON(servedModelName: string, parameters: VideoParameters): VideoBody {
  const body = Buffer.from(JSON.stringify(listFields(servedModelName, parameters)));
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    open: () => body,
  };
}

/** Never `seconds`: engines disagree about its type, and frames say it exactly. */
function listFields(servedModelName: string, parameters: VideoParameters): Record<string, unknown> {
  const { prompt, size, frames, fps } = parameters;
  return {
    model: servedModelName,
    prompt,
    size,
    num_frames: frames,
    fps,
    ...listExtraFields(parameters),
  };
}
