/** The OpenAPI 3.1 document of a deployment, with the routes and parameters that its model has. Pure. */

import type { ModelKind } from '../../api/engine-presets.ts';
import { ERRORS, type ErrorCode, PARAMETER_CODES } from '../../api/errors.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { VERSION } from '../../api/names.ts';
import { anthropicStatus, type ErrorDialect } from '../http/error-response.ts';
import { ALL_ROUTES, isSpoken, type Route, type RouteName } from '../http/routes.ts';
import type { JsonSchema } from '../text/fields.ts';
import { AUDIO_OPERATIONS } from './audio-operations.ts';
import { BATCH_OPERATIONS } from './batch-operations.ts';
import { IMAGE_OPERATIONS } from './image-operations.ts';
import type { Body, Facts, Operation, OperationAnswer, SchemaName } from './operation.ts';
import { RECORD_OPERATIONS } from './record-operations.ts';
import { describeSchema } from './response-schemas.ts';
import { TEXT_OPERATIONS } from './text-operations.ts';
import { VIDEO_OPERATIONS } from './video-operations.ts';

const NOT_MADE = () => null;

/** Every route is documented; null if the model does not serve it. */
const OPERATIONS: Record<RouteName, (facts: Facts) => Operation | null> = {
  ...TEXT_OPERATIONS,
  ...AUDIO_OPERATIONS,
  ...IMAGE_OPERATIONS,
  ...VIDEO_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...BATCH_OPERATIONS,
  health: NOT_MADE,
  result: NOT_MADE,
  image_variations: NOT_MADE,
  video_remix: NOT_MADE,
};

/** Returned by every route. */
const COMMON_ERRORS = [
  'invalid_request_error',
  ...PARAMETER_CODES,
  'invalid_api_key',
  'permission_denied',
  'request_timeout',
  'headers_too_large',
  'internal_error',
  'upstream_error',
  'temporarily_unavailable',
  // From a replica that is being removed.
  'no_pod_available',
] as const satisfies readonly ErrorCode[];

const HEADERS = {
  RequestId: {
    description: 'ID of the HTTP request; the caller’s own if it sent a valid one.',
    required: true,
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds to wait before retrying.', schema: { type: 'integer' } },
};
const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
const RETRY_AFTER = { 'retry-after': { $ref: '#/components/headers/RetryAfter' } };

export interface DocumentSubject extends Facts {
  kinds: readonly ModelKind[];
  /** Routes of its engine; absent = any. */
  routes?: readonly string[];
  title: string;
  servers: readonly JsonSchema[];
}

/** For one deployment, as served at `/openapi.json`. */
export const buildDeploymentDocument = (config: GatewayConfig): JsonSchema =>
  buildDocument({
    ...config,
    kinds: [config.kind],
    title: `${config.displayName} on Berth`,
    servers: [{ url: '/' }],
  });

export function buildDocument(subject: DocumentSubject): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const names = new Set<SchemaName>(['Error']);
  for (const route of ALL_ROUTES as readonly Route[]) {
    if (!isNamed(route, subject)) continue;
    const operation = OPERATIONS[route.name as RouteName](subject);
    if (!operation) continue;
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = describeOperation(route, operation, subject);
    for (const { schema } of Object.values(operation.answers)) if (schema) names.add(schema);
    names.add(ENVELOPES[operation.dialect ?? 'openai']);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: subject.title,
      version: VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: subject.servers,
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the deployment’s workspace.' },
      },
      headers: HEADERS,
      schemas: Object.fromEntries([...names].sort().map((name) => [name, describeSchema(name)])),
    },
  };
}

function isNamed(route: Route, { kinds: served, routes }: DocumentSubject): boolean {
  const kinds = route.namedTo ?? route.kinds;
  if (routes && !isSpoken(route, { routes })) return false;
  return kinds === null || kinds.some((kind) => served.includes(kind));
}

function describeOperation(route: Route, operation: Operation, subject: DocumentSubject): JsonSchema {
  const { summary, description, body } = operation;
  const parameters = [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
      describePathParameter(name!, subject, route.path),
    ),
    ...(operation.parameters ?? []).map((parameter) =>
      // An empty one counts as absent.
      parameter.in === 'query' ? { ...parameter, allowEmptyValue: true } : parameter,
    ),
  ];
  return {
    operationId: route.name,
    summary,
    ...(description && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: describeBodies([body].flat()) } }),
    responses: { ...describeAnswers(operation.answers), ...describeErrors(operation) },
  };
}

/** Ids of other objects than requests, by the path's first part. */
const ID_PATTERNS: Record<string, string> = {
  files: '^file_[0-9a-f]{31}$',
  batches: '^batch_[0-9a-f]{30}$',
};
const firstPart = (path: string): string => path.split('/')[2] ?? '';

const describePathParameter = (name: string, { modelId }: Facts, path: string): JsonSchema => ({
  name,
  in: 'path',
  required: true,
  schema:
    name === 'model' && modelId !== undefined
      ? { const: modelId }
      : {
          type: 'string',
          ...(name === 'id' && { pattern: ID_PATTERNS[firstPart(path)] ?? '^req_[0-9a-f]{32}$' }),
        },
});

const describeBodies = (bodies: readonly Body[]): JsonSchema =>
  Object.fromEntries(bodies.map((body) => [body.type, describeBody(body)]));

const describeBody = ({ required, properties, files }: Body): JsonSchema => ({
  schema: { type: 'object', required, properties },
  ...(files &&
    Object.keys(files).length > 0 && {
      encoding: Object.fromEntries(
        Object.entries(files).map(([name, contentType]) => [name, { contentType }]),
      ),
    }),
});

const describeAnswers = (answers: Operation['answers']): JsonSchema =>
  Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer)]));

const describeAnswer = ({
  description,
  schema,
  types = [],
  canStream,
  headers,
}: OperationAnswer): JsonSchema => ({
  description,
  headers: { ...REQUEST_ID, ...headers },
  ...((schema || types.length > 0) && {
    content: {
      ...(schema && { 'application/json': { schema: refer(schema) } }),
      ...Object.fromEntries(types.map((type) => [type, {}])),
      ...(canStream && { 'text/event-stream': {} }),
    },
  }),
});

const RETRIED: ReadonlySet<number> = new Set([429, 503, 529]);

const ENVELOPES: Record<ErrorDialect, SchemaName> = {
  openai: 'Error',
  anthropic: 'AnthropicError',
  cohere: 'CohereError',
};

/** One response per status, which lists its codes. */
function describeErrors({ errors, dialect = 'openai' }: Operation): JsonSchema {
  const codes = new Map<number, Set<ErrorCode>>();
  for (const error of [...COMMON_ERRORS, ...errors]) {
    const [code, usual]: readonly [ErrorCode, number] =
      typeof error === 'string' ? [error, ERRORS[error].status] : error;
    const status = dialect === 'anthropic' ? anthropicStatus({ code, status: usual }) : usual;
    codes.set(status, (codes.get(status) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      status,
      {
        description: [...names].map((code) => `\`${code}\``).join(', '),
        headers: { ...REQUEST_ID, ...(RETRIED.has(status) && RETRY_AFTER) },
        content: { 'application/json': { schema: refer(ENVELOPES[dialect]) } },
      },
    ]),
  );
}

const refer = (name: SchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
