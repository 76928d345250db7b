/** Documents the video routes of a model: its resolutions, tasks, and what its pinned specification allows. */

import { listExtras } from '../../api/media-parameters.ts';
import type { VideoModel } from '../../api/model-media.ts';
import { DEFAULT_VIDEO_LIMIT, MAX_VIDEO_LIMIT, VIDEO_ORDERS } from '../jobs/video-list.ts';
import {
  DEFAULT_FPS,
  DEFAULT_RESOLUTION,
  DEFAULT_SECONDS,
  MAX_FPS,
  MAX_SECONDS,
  TOLERANCE_SECONDS,
} from '../media/video-parameters.ts';
import { VIDEO_FORM, VIDEO_JSON_FIELDS } from '../media/video-routes.ts';
import type { JsonSchema } from '../text/fields.ts';
import {
  describeCommonFields,
  describeSize,
  IDEMPOTENCY_KEY,
  IMAGE_FILE,
  IMAGE_FILE_TYPES,
  IMAGE_REFERENCE,
  MEDIA_ERRORS,
  REPLAY_HEADERS,
} from './media-fields.ts';
import { type Body, type Facts, jsonBody, type Operation } from './operation.ts';

const VIDEO_ERRORS = [
  ...MEDIA_ERRORS,
  'resolution_not_supported',
  'duration_mismatch',
  'fps_mismatch',
] as const;

/** Seconds of a clip. */
const describeDuration = ({ native }: VideoModel): JsonSchema =>
  native
    ? {
        type: 'number',
        minimum: native.seconds - TOLERANCE_SECONDS,
        maximum: native.seconds + TOLERANCE_SECONDS,
        default: native.seconds,
      }
    : { type: 'number', exclusiveMinimum: 0, maximum: MAX_SECONDS, default: DEFAULT_SECONDS };

const describeRate = ({ native }: VideoModel): JsonSchema =>
  native ? { const: native.fps } : { type: 'integer', minimum: 1, maximum: MAX_FPS, default: DEFAULT_FPS };

/** Under the names of both routes. */
function describeFields(facts: Facts, names: Iterable<string>): Record<string, JsonSchema> {
  const video = facts.video!;
  const extras = listExtras(facts, video.tasks[0]!);
  const size = describeSize(facts.modelId === undefined ? undefined : video.resolutions, DEFAULT_RESOLUTION);
  const duration = describeDuration(video);
  const fields: Record<string, JsonSchema> = {
    ...describeCommonFields(facts, video, extras),
    ...(extras.includes('fps') && { fps: describeRate(video) }),
    size,
    seconds: duration,
    resolution: size,
    duration,
  };
  const read = [...names].filter((name) => name in fields);
  return Object.fromEntries(read.map((name) => [name, fields[name]!]));
}

const describeReferences = ({ references = 1 }: VideoModel, items: JsonSchema): JsonSchema =>
  references > 1 ? { type: 'array', items, minItems: 1, maxItems: references } : items;

function describeVideo(facts: Facts, video: VideoModel): Body[] {
  const fields = describeFields(facts, VIDEO_FORM.texts);
  const takesImages = video.tasks.includes('i2v');
  const required = ['model', 'prompt', 'seconds', 'size'];
  if (!video.tasks.includes('t2v')) required.push('input_reference');
  const withReferences = (items: JsonSchema) => ({
    ...fields,
    ...(takesImages && { input_reference: describeReferences(video, items) }),
  });
  return [
    {
      type: 'multipart/form-data',
      required,
      properties: withReferences(IMAGE_FILE),
      files: takesImages ? { input_reference: IMAGE_FILE_TYPES } : {},
    },
    jsonBody(withReferences(IMAGE_REFERENCE), required),
  ];
}

/** Fields that have other names in the route that takes JSON alone. */
const FORM_ONLY = ['size', 'seconds'];

const ID_ERRORS = ['not_found', 'permission_denied'] as const;

export const VIDEO_OPERATIONS = {
  videos: (facts: Facts): Operation | null =>
    facts.video && {
      summary: 'Generate a video',
      description: describeModes(facts.video),
      parameters: [IDEMPOTENCY_KEY],
      body: describeVideo(facts, facts.video),
      answers: { 202: { description: 'Queued.', schema: 'Video', headers: REPLAY_HEADERS } },
      errors: [...VIDEO_ERRORS, 'invalid_json', 'invalid_image'],
    },
  video_generations: (facts: Facts): Operation | null =>
    facts.video?.tasks.includes('t2v')
      ? {
          summary: 'Generate a video from text, with JSON',
          description: 'Follow it under /v1/requests. Fields that are not listed are ignored.',
          parameters: [IDEMPOTENCY_KEY],
          body: jsonBody(
            describeFields(
              facts,
              [...VIDEO_JSON_FIELDS].filter((name) => !FORM_ONLY.includes(name)),
            ),
            ['model', 'prompt'],
          ),
          answers: {
            202: { description: 'Queued.', schema: 'Acknowledgement', headers: REPLAY_HEADERS },
          },
          errors: [...VIDEO_ERRORS, 'invalid_json'],
        }
      : null,
  video_list: (): Operation => ({
    summary: 'List the videos of this deployment',
    parameters: [
      {
        name: 'limit',
        in: 'query',
        description: `Videos of a page. More than ${MAX_VIDEO_LIMIT} count as ${MAX_VIDEO_LIMIT}.`,
        schema: { type: 'integer', minimum: 1, default: DEFAULT_VIDEO_LIMIT },
      },
      {
        name: 'order',
        in: 'query',
        description: 'By the time they were accepted.',
        schema: { enum: [...VIDEO_ORDERS], default: 'desc' },
      },
      {
        name: 'after',
        in: 'query',
        description: 'ID of the last video of the previous page.',
        schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
      },
    ],
    answers: { 200: { description: 'A page of videos.', schema: 'VideoList' } },
    errors: [],
  }),
  video: (): Operation => ({
    summary: 'Read a video',
    answers: { 200: { description: 'The video.', schema: 'Video', headers: POLL_HEADERS } },
    errors: ID_ERRORS,
  }),
  video_content: (): Operation => ({
    summary: 'Download a video',
    parameters: [
      {
        name: 'variant',
        in: 'query',
        description: 'Only the video itself is available.',
        schema: { enum: ['video'], default: 'video' },
      },
    ],
    answers: {
      302: {
        description: 'A signed link to the file, valid for an hour.',
        headers: {
          location: { description: 'The link.', schema: { type: 'string' }, required: true },
        },
      },
    },
    errors: [...ID_ERRORS, 'video_not_ready', 'result_expired'],
  }),
  video_delete: (): Operation => ({
    summary: 'Cancel a queued video',
    description: 'Has no effect on a video that has ended.',
    answers: { 204: { description: 'It is canceled, or had already ended.' } },
    errors: [...ID_ERRORS, 'video_not_cancellable'],
  }),
};

const POLL_HEADERS = {
  'openai-poll-after-ms': {
    description: 'When to poll again; absent once it has ended.',
    schema: { type: 'integer' },
  },
} as const;

const describeModes = ({ tasks, native }: VideoModel): string =>
  [
    tasks.includes('i2v') && tasks.includes('t2v')
      ? 'From text, or from an image if `input_reference` is attached.'
      : tasks.includes('i2v')
        ? 'From an image and text.'
        : 'From text.',
    native
      ? `This model generates clips of ${native.seconds} s at ${native.fps} frames per second.`
      : 'The number of frames is rounded to the nearest value of the form 4n+1, at least 5.',
    'Fields that are not listed are ignored.',
  ].join(' ');
