/** What an error is about, in a few words. Pure. */

/** A CallError has both. */
type Fault = Error & { code?: string; status?: number };

/** By code: of the console, and of endpoints that the playground calls. */
const TITLES: Record<string, string> = {
  unreachable: 'No connection to the console',
  insufficient_quota: 'Credit used up',
  rate_limit_exceeded: 'Rate limit reached',
  replica_saturated: 'All replicas are busy',
  no_pod_available: 'No replica ready',
  temporarily_unavailable: 'Temporarily unavailable',
  upstream_error: 'No answer from the endpoint',
  queue_full: 'Queue full',
  context_length_exceeded: 'Prompt too long',
  request_timeout: 'Timeout',
  image_generation_timeout: 'Timeout',
  image_edit_timeout: 'Timeout',
  not_found: 'Not found',
  model_not_found: 'Model not found',
  result_expired: 'Result expired',
  not_signed_in: 'Signed out',
  invalid_token: 'Sign-in failed',
  invalid_api_key: 'API key not accepted',
  https_required: 'HTTPS required',
  permission_denied: 'No permission',
  conflict: 'Not possible now',
  request_too_large: 'Request too large',
  answer_too_large: 'Response too large',
  storage_upload_failed: 'Upload failed',
};

/** `isOnline`: of the browser. */
export function describeFault({ code, status }: Fault, isOnline = true): string {
  if (code === undefined || status === undefined) return 'Unexpected error';
  if (code === 'unreachable' && !isOnline) return 'You are offline';
  return TITLES[code] ?? (status >= 500 ? 'Server error' : 'Request refused');
}
