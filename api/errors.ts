/** The one table of error codes (docs/api.md, "Errors"). `make generate` writes docs/errors.md from it. */
import type { ErrorEnvelope } from './api-objects.ts';

export interface ErrorDefinition {
  status: number;
  type: string;
  /** Whether an SDK may retry by itself; false sends `x-should-retry: false`. */
  retry: boolean;
  /** When it is returned. */
  when: string;
  /** What the caller can do. */
  remedy: string;
}

const invalid = 'invalid_request_error';

const parameter = (when: string, remedy = 'Send what the message allows; `param` names the parameter.') => ({
  status: 400,
  type: invalid,
  retry: false,
  when,
  remedy,
});

/** A parameter is wrong, with the codes that OpenAI's own API has. */
const PARAMETER_ERRORS = {
  missing_required_parameter: parameter('A required parameter is missing.'),
  invalid_type: parameter('A parameter has another type than it must have.'),
  invalid_value: parameter('A parameter has the right type and a value that is not allowed.'),
  unsupported_parameter: parameter(
    'The deployment or its engine does not support the parameter.',
    'Omit it; the message says what to send instead, if anything.',
  ),
  unsupported_value: parameter('The deployment or its engine does not support this value of the parameter.'),
  unknown_parameter: parameter(
    'A member of `extra_params` is not listed by the deployment.',
    'Send members that the message lists.',
  ),
  integer_below_min_value: parameter('An integer is too small.'),
  integer_above_max_value: parameter('An integer is too large.'),
  decimal_below_min_value: parameter('A number is too small.'),
  decimal_above_max_value: parameter('A number is too large.'),
  empty_string: parameter('A string is empty that must not be.'),
  string_above_max_length: parameter('A string is too long.'),
  empty_array: parameter('An array is empty that must not be.'),
  array_above_max_length: parameter('An array has too many items.'),
};

export const ERRORS = {
  invalid_request_error: {
    status: 400,
    type: invalid,
    retry: false,
    when: 'The request is malformed, or does not suit this deployment or the state of what it names.',
    remedy: 'Fix what the message describes.',
  },
  ...PARAMETER_ERRORS,
  invalid_json: {
    status: 400,
    type: invalid,
    retry: false,
    when: 'The body is not JSON, or not UTF-8.',
    remedy: 'Send a JSON object in UTF-8.',
  },
  model_mismatch: {
    status: 400,
    type: invalid,
    retry: false,
    when: "`model` differs from the deployment's model on a text route.",
    remedy: 'Omit `model`, or send the id that GET /v1/models shows.',
  },
  context_length_exceeded: {
    status: 400,
    type: invalid,
    retry: false,
    when: "The prompt, or the prompt together with the requested output, is longer than the model's context.",
    remedy: 'Send a shorter prompt, or request fewer output tokens.',
  },
  wrong_modality: {
    status: 400,
    type: invalid,
    retry: false,
    when: 'The deployment serves another kind of model.',
    remedy: 'Call a route of that kind, or another deployment.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    retry: false,
    when: 'The key is missing, unknown, disabled or expired.',
    remedy: 'Send `Authorization: Bearer <API_KEY>`, or `x-api-key`, with a key of this workspace.',
  },
  insufficient_quota: {
    status: 503,
    type: 'insufficient_quota',
    retry: false,
    when: "The workspace's credit, or a budget of the key or its owner, is used up: 503 on text routes, 402 on media.",
    remedy:
      'Ask the owner of the workspace; the message says whose budget it is and when the next period begins.',
  },
  permission_denied: {
    status: 403,
    type: 'permission_error',
    retry: false,
    when: 'The resource belongs to another workspace, the key may not call this deployment, or a link to a result has expired or was changed.',
    remedy:
      "Use a key of the resource's workspace that may call the deployment; read the request again for a new link.",
  },
  not_found: {
    status: 404,
    type: invalid,
    retry: false,
    when: 'The URL is not a deployment endpoint, or not one of its routes.',
    remedy: "Check the base URL in the deployment's status.url and the path.",
  },
  model_not_found: {
    status: 404,
    type: invalid,
    retry: false,
    when: 'The model id is unknown here.',
    remedy: 'Send the id that GET /v1/models shows.',
  },
  method_not_allowed: {
    status: 405,
    type: invalid,
    retry: false,
    when: 'The path does not support this method.',
    remedy: 'Use a method from the Allow header.',
  },
  websocket_not_supported: {
    status: 426,
    type: invalid,
    retry: false,
    when: 'A WebSocket was requested. Its status is not 405 because clients then go on with HTTP at once.',
    remedy: 'Send a POST request, with `stream: true` for events.',
  },
  request_timeout: {
    status: 408,
    type: 'timeout_error',
    retry: true,
    when: 'Headers or body did not arrive in time (408), or the engine took longer than the limit (504).',
    remedy: 'Send the request faster, or request less work.',
  },
  request_too_large: {
    status: 413,
    type: invalid,
    retry: false,
    when: 'The body or a file exceeds its limit.',
    remedy: 'Send less; the message states the limit.',
  },
  headers_too_large: {
    status: 431,
    type: invalid,
    retry: false,
    when: 'The request headers exceed 16 KiB.',
    remedy: 'Send fewer or shorter headers.',
  },
  unsupported_encoding: {
    status: 415,
    type: invalid,
    retry: false,
    when: 'Content-Encoding is other than identity.',
    remedy: 'Send the body uncompressed.',
  },
  unsupported_media_type: {
    status: 415,
    type: invalid,
    retry: false,
    when: 'The route does not accept this Content-Type.',
    remedy: 'Send application/json, or multipart/form-data where the route accepts files.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    when: "The key's requests per minute or tokens per day are used up.",
    remedy: 'Wait for Retry-After seconds, or ask for a key with higher limits.',
  },
  replica_saturated: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    when: 'Every replica is at its concurrency limit, and remained so for `limits.waitForSlot` (synchronous images: 0 s by default), or the queue inside each engine is full.',
    remedy: 'Wait for Retry-After seconds; images: use async=true.',
  },
  no_pod_available: {
    status: 503,
    type: 'service_unavailable',
    retry: true,
    when: 'No replica is ready: starting, not running, paused or scaled to zero.',
    remedy:
      'Wait for Retry-After seconds. Without this header someone must act: see the status of the ModelDeployment.',
  },
  temporarily_unavailable: {
    status: 503,
    type: 'service_unavailable',
    retry: true,
    when: 'A component that the request needs is temporarily unavailable.',
    remedy: 'Wait for Retry-After seconds. Without this header the installation lacks the component.',
  },
  upstream_error: {
    status: 502,
    type: 'upstream_error',
    retry: true,
    when: 'The engine failed or closed the connection.',
    remedy: "Try again; see the deployment's EngineHealthy condition.",
  },
  invalid_image: {
    status: 400,
    type: invalid,
    retry: false,
    when: 'An uploaded file is not a PNG, JPEG or WebP image, or has too many pixels.',
    remedy: 'Send a PNG, JPEG or WebP of at most 64 megapixels.',
  },
  async_mask_unsupported: {
    status: 400,
    type: invalid,
    retry: false,
    when: '`mask` was sent with `async=true`.',
    remedy: 'Omit `mask`, or send the edit without `async=true`.',
  },
  size_not_supported: {
    status: 422,
    type: invalid,
    retry: false,
    when: '`size` is not one of the sizes that the model supports.',
    remedy: 'Send one of the sizes that the message lists.',
  },
  resolution_not_supported: {
    status: 422,
    type: invalid,
    retry: false,
    when: 'The resolution of a video is not one that the model supports.',
    remedy: 'Send one of the resolutions that the message lists.',
  },
  duration_mismatch: {
    status: 422,
    type: invalid,
    retry: false,
    when: 'The model generates videos of one duration only, and another was requested.',
    remedy: 'Send the duration that the message names.',
  },
  fps_mismatch: {
    status: 422,
    type: invalid,
    retry: false,
    when: 'The model generates videos of one frame rate only, and another was requested.',
    remedy: 'Send the `fps` that the message names.',
  },
  invalid_webhook_url: {
    status: 422,
    type: invalid,
    retry: false,
    when: '`webhook_url` is not a public HTTPS address.',
    remedy: 'Send an https:// URL that resolves to a public address.',
  },
  video_not_ready: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'The content of a video was requested before it completed.',
    remedy: 'Poll the video until its status is `completed`.',
  },
  video_not_cancellable: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'A running video was deleted.',
    remedy: 'Wait until it ends.',
  },
  request_not_cancellable: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'The request to cancel is no longer queued.',
    remedy: 'None: the request is running or has ended.',
  },
  file_in_use: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'The file to delete is the input of a batch that has not ended.',
    remedy: 'Cancel the batch, or wait for its end.',
  },
  batch_not_cancellable: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'The batch to cancel has ended.',
    remedy: 'None: its files have what was done.',
  },
  idempotency_key_reused: {
    status: 409,
    type: invalid,
    retry: false,
    when: 'The `Idempotency-Key` was sent with another request within the last 24 hours, and the deployment sets `limits.idempotency: Strict`.',
    remedy: 'Send a new key with a new request; a repeat carries the same fields as the original, or fewer.',
  },
  result_expired: {
    status: 404,
    type: invalid,
    retry: false,
    when: 'The result was removed at the end of its retention.',
    remedy: 'Fetch results sooner, or have them stored in a bucket of your own.',
  },
  queue_full: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    when: "The deployment's queue is full.",
    remedy: 'Wait for Retry-After seconds.',
  },
  image_generation_timeout: {
    status: 504,
    type: 'timeout_error',
    retry: false,
    when: 'A synchronous image generation took longer than its budget.',
    remedy: 'Use `async=true`, which allows up to 30 minutes (`limits.imageJobTimeout`).',
  },
  image_edit_timeout: {
    status: 504,
    type: 'timeout_error',
    retry: false,
    when: 'A synchronous image edit took longer than its budget.',
    remedy: 'Use `async=true`, which allows up to 30 minutes (`limits.imageJobTimeout`).',
  },
  storage_credential_not_found: {
    status: 422,
    type: invalid,
    retry: false,
    when: "`storage_credential_id` does not identify a StorageCredential of the key's workspace.",
    remedy: 'Send the id in the status of a StorageCredential, or omit the field for managed storage.',
  },
  storage_credential_not_verified: {
    status: 422,
    type: invalid,
    retry: false,
    when: 'The StorageCredential could not be verified: its bucket was not written, read and cleaned up.',
    remedy: "Fix what the StorageCredential's Verified condition reports.",
  },
  storage_upload_failed: {
    status: 502,
    type: 'upstream_error',
    retry: true,
    when: 'The result could not be written to the output bucket.',
    remedy: 'Fix the bucket as the message describes, then try again.',
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    retry: true,
    when: 'An internal error in the gateway.',
    remedy: 'Report it with the x-request-id.',
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERRORS;

export const PARAMETER_CODES = Object.keys(PARAMETER_ERRORS) as (keyof typeof PARAMETER_ERRORS)[];

/** Where a code is documented on a site of this documentation, such as the console's `/docs`. */
export const errorDocumentation = (site: string, code: string): string => `${site}/errors#${code}`;

/** `site`: base URL of the documentation, if it is published. */
export function buildErrorEnvelope(
  code: ErrorCode,
  message: string,
  { param = null, site }: { param?: string | null; site?: string | undefined } = {},
): ErrorEnvelope {
  const documentation = site === undefined ? {} : { documentation_url: errorDocumentation(site, code) };
  return { error: { message, type: ERRORS[code].type, param, code, ...documentation } };
}
