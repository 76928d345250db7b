/** Documents the routes of batches and their files. */
import { BATCH_PATHS, MAX_BATCH_LINES } from '../../api/batch.ts';
import { DEFAULT_PAGE, MAX_PAGE } from '../batches/batch-list.ts';
import { BODY_ERRORS, jsonBody, type Operation, type Parameter } from './operation.ts';

const PAGE: readonly Parameter[] = [
  {
    name: 'after',
    in: 'query',
    description: 'The id of the last object of the page before.',
    schema: { type: 'string' },
  },
  {
    name: 'limit',
    in: 'query',
    description: `Maximum number listed. More than ${MAX_PAGE} count as ${MAX_PAGE}.`,
    schema: { type: 'integer', minimum: 1, default: DEFAULT_PAGE },
  },
  {
    name: 'order',
    in: 'query',
    description: 'By age; newest first by default.',
    schema: { enum: ['asc', 'desc'] },
  },
];
const EXPIRY = {
  type: 'object',
  properties: {
    anchor: { const: 'created_at' },
    seconds: { type: 'integer', minimum: 3600, maximum: 2592000 },
  },
};

export const BATCH_OPERATIONS = {
  file_upload: (): Operation => ({
    summary: 'Upload the requests of a batch',
    description: `A JSONL file of at most ${MAX_BATCH_LINES} lines, each with \`custom_id\`, \`method\`, \`url\` and \`body\`.`,
    body: {
      type: 'multipart/form-data',
      required: ['file', 'purpose'],
      properties: {
        file: { type: 'string', format: 'binary' },
        purpose: { const: 'batch' },
        'expires_after[anchor]': { const: 'created_at' },
        'expires_after[seconds]': { type: 'integer', minimum: 3600, maximum: 2592000 },
      },
      files: { file: 'application/jsonl' },
    },
    answers: { 200: { description: 'The file.', schema: 'File' } },
    errors: [...BODY_ERRORS, 'queue_full', 'storage_upload_failed'],
  }),
  file_list: (): Operation => ({
    summary: 'List the files of this deployment',
    parameters: PAGE,
    answers: { 200: { description: 'The files.', schema: 'FileList' } },
    errors: [],
  }),
  file: (): Operation => ({
    summary: 'Read what is known of a file',
    answers: { 200: { description: 'The file.', schema: 'File' } },
    errors: ['not_found'],
  }),
  file_content: (): Operation => ({
    summary: 'Download a file',
    answers: { 200: { description: 'Its lines.', types: ['application/jsonl'] } },
    errors: ['not_found', 'result_expired'],
  }),
  file_delete: (): Operation => ({
    summary: 'Delete a file',
    answers: { 200: { description: 'It is deleted.', schema: 'FileDeletion' } },
    errors: ['not_found', 'file_in_use'],
  }),
  batch_create: (): Operation => ({
    summary: 'Run the requests of a file on slots that nothing else needs',
    body: jsonBody(
      {
        input_file_id: { type: 'string' },
        endpoint: { enum: Object.values(BATCH_PATHS).flat() },
        completion_window: { type: 'string', pattern: '^[1-9][0-9]{0,2}(h|d)$' },
        metadata: { type: 'object' },
        output_expires_after: EXPIRY,
      },
      ['input_file_id', 'endpoint', 'completion_window'],
    ),
    answers: { 200: { description: 'The batch.', schema: 'Batch' } },
    errors: [...BODY_ERRORS, 'not_found', 'queue_full'],
  }),
  batch_list: (): Operation => ({
    summary: 'List the batches of this deployment',
    parameters: PAGE,
    answers: { 200: { description: 'The batches.', schema: 'BatchList' } },
    errors: [],
  }),
  batch: (): Operation => ({
    summary: 'Read a batch',
    answers: { 200: { description: 'The batch.', schema: 'Batch' } },
    errors: ['not_found'],
  }),
  batch_cancel: (): Operation => ({
    summary: 'Cancel a batch',
    description: 'Lines that are running are finished; what is done can be downloaded.',
    answers: { 200: { description: 'The batch.', schema: 'Batch' } },
    errors: ['not_found', 'batch_not_cancellable'],
  }),
};
