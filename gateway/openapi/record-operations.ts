/** Documents read routes: the model, requests, and the document itself. */
import { DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT, REQUEST_STATUSES } from '../../api/request.ts';
import type { Operation } from './operation.ts';

const ID_ERRORS = ['not_found', 'permission_denied'] as const;

export const RECORD_OPERATIONS = {
  models: (): Operation => ({
    summary: 'List the one model of this deployment',
    answers: { 200: { description: 'A list with one entry.', schema: 'ModelList' } },
    errors: ['no_pod_available'],
  }),
  model: (): Operation => ({
    summary: 'Read the model',
    answers: { 200: { description: 'The model.', schema: 'Model' } },
    errors: ['no_pod_available', 'model_not_found'],
  }),
  requests: (): Operation => ({
    summary: 'List the requests of this deployment, newest first',
    parameters: [
      {
        name: 'status',
        in: 'query',
        description: 'Only those with this status.',
        schema: { enum: [...REQUEST_STATUSES] },
      },
      {
        name: 'limit',
        in: 'query',
        description: `Maximum number listed. More than ${MAX_LIST_LIMIT} count as ${MAX_LIST_LIMIT}.`,
        schema: { type: 'integer', minimum: 1, default: DEFAULT_LIST_LIMIT },
      },
    ],
    answers: { 200: { description: 'The requests, without links.', schema: 'RequestList' } },
    errors: [],
  }),
  request: (): Operation => ({
    summary: 'Read a request',
    answers: { 200: { description: 'The request.', schema: 'Request' } },
    errors: ID_ERRORS,
  }),
  request_cancel: (): Operation => ({
    summary: 'Cancel a queued request',
    answers: { 200: { description: 'The canceled request.', schema: 'Request' } },
    errors: [...ID_ERRORS, 'request_not_cancellable'],
  }),
  request_input: () => null,
  request_retry: () => null,
  openapi: (): Operation => ({
    summary: 'Read this document',
    answers: { 200: { description: 'The OpenAPI document of this deployment.', schema: 'OpenAPI' } },
    errors: [],
  }),
};
