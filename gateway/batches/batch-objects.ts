/** Files and batches as an endpoint shows them. Pure. */
import type { BatchObject, FileObject } from '../../api/api-objects.ts';
import type { BatchStatus } from '../../api/batch.ts';
import type { FileRecord } from '../../redis/batches/batch-files.ts';
import type { BatchRecord } from '../../redis/batches/batch-records.ts';

const toSeconds = (ms: number): number => Math.floor(ms / 1_000);
const toSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

export function describeFile({
  id,
  kind,
  bytes,
  createdAt,
  expiresAt,
  name,
  errors,
}: FileRecord): FileObject {
  const [first] = errors;
  return {
    id,
    object: 'file',
    bytes,
    created_at: toSeconds(createdAt),
    expires_at: toSeconds(expiresAt),
    filename: name,
    purpose: kind === 'input' ? 'batch' : 'batch_output',
    status: first ? 'error' : 'processed',
    status_details: first ? `${first.line === null ? '' : `Line ${first.line}: `}${first.message}` : null,
  };
}

export function describeBatch(batch: BatchRecord, model: string): BatchObject {
  const { id, status, errors, usage } = batch;
  const endedAs = (wanted: BatchStatus) => (status === wanted ? toSecondsOrNull(batch.endedAt) : null);
  return {
    id,
    object: 'batch',
    endpoint: batch.endpoint,
    model,
    errors: errors.length > 0 ? { object: 'list', data: errors } : null,
    input_file_id: batch.file,
    completion_window: batch.window,
    status,
    output_file_id: batch.outputFile,
    error_file_id: batch.errorFile,
    created_at: toSeconds(batch.createdAt),
    in_progress_at: status === 'failed' ? null : toSeconds(batch.createdAt),
    expires_at: toSeconds(batch.expiresAt),
    finalizing_at: toSecondsOrNull(batch.finalizingAt),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: toSecondsOrNull(batch.cancellingAt),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total: batch.lines, completed: batch.completed, failed: batch.failed },
    usage: {
      input_tokens: usage.inputTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens },
      output_tokens: usage.outputTokens,
      // Engines count them among the others.
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.totalTokens,
    },
    metadata: readMetadata(batch.metadata),
  };
}

function readMetadata(text: string): Record<string, string> | null {
  try {
    return text === '' ? null : (JSON.parse(text) as Record<string, string>);
  } catch {
    return null;
  }
}
