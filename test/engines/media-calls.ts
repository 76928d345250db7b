/** Requests for images and videos, to an engine and to its endpoint. */
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import type { Fields, Target } from './answers.ts';

export type Files = readonly [name: string, file: Buffer][];

const JOB_TIMEOUT_MS = 240_000;

export interface MediaAnswer {
  status: number;
  body: Fields;
}

const authorization = ({ key }: Target): Record<string, string> =>
  key ? { authorization: `Bearer ${key}` } : {};

/** A form; `files` are PNGs. */
export async function sendForm(
  target: Target,
  path: string,
  fields: Fields,
  files: Files = [],
): Promise<MediaAnswer> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: target.model, ...fields }))
    form.set(name, String(value));
  for (const [name, file] of files)
    form.append(name, new Blob([new Uint8Array(file)], { type: 'image/png' }), `${name}.png`);
  const response = await fetch(`${target.baseURL}${path}`, {
    method: 'POST',
    headers: authorization(target),
    body: form,
  });
  return { status: response.status, body: parse(await response.text()) };
}

export async function get(target: Target, path: string): Promise<MediaAnswer> {
  const response = await fetch(`${target.baseURL}${path}`, { headers: authorization(target) });
  return { status: response.status, body: parse(await response.text()) };
}

export async function download(target: Target, path: string): Promise<ArrayBuffer> {
  const response = await fetch(`${target.baseURL}${path}`, { headers: authorization(target) });
  expect(response.status).to.equal(200);
  return response.arrayBuffer();
}

/** The images of a response, unchanged. */
export function readPictures({ status, body }: MediaAnswer): Buffer[] {
  expect(status, JSON.stringify(body).slice(0, 500)).to.equal(200);
  return (body.data as { b64_json: string }[]).map(({ b64_json: text }) => Buffer.from(text, 'base64'));
}

/** The ended video, whatever its status. */
export async function finishVideo(target: Target, id: string): Promise<Fields> {
  let video: Fields = {};
  await pollUntil(
    async () => {
      ({ body: video } = await get(target, `/videos/${id}`));
      return !['queued', 'in_progress'].includes(String(video.status));
    },
    'the video to end',
    JOB_TIMEOUT_MS,
  );
  return video;
}

function parse(text: string): Fields {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
