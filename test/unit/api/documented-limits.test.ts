import { expect } from 'chai';
import { apiKeySpec } from '../../../api/api-key.ts';
import { ERRORS } from '../../../api/errors.ts';
import { modelLimits, resolveLimits } from '../../../api/model-limits.ts';
import { DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT } from '../../../api/request.ts';
import { DELIVERY_TIMING } from '../../../gateway/webhooks/attempt.ts';

describe('what the API documents', () => {
  it('is what a deployment has that says nothing else: 30 s for an image, 120 s for a text, 30 min for a video', () => {
    expect(resolveLimits(modelLimits.parse(undefined), 'Image')).to.include({
      imageTimeoutMs: 30_000,
      requestTimeoutMs: 120_000,
      videoTimeoutMs: 30 * 60_000,
    });
  });

  it('is what a key has that says nothing else: 60 requests a minute, 1,000,000 tokens a day', () => {
    expect(apiKeySpec.parse({})).to.include({ rpm: 60, tpd: 1_000_000 });
  });

  it('is how long deliveries take: 5 s each, with 2, 4 and 8 s after them', () => {
    const { attemptMs, waitAfter } = DELIVERY_TIMING;
    expect([attemptMs, ...[1, 2, 3].map(waitAfter)]).to.deep.equal([5_000, 2_000, 4_000, 8_000]);
  });

  it('is how many requests a list has: 50, at most 200', () => {
    expect([DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT]).to.deep.equal([50, 200]);
  });

  const codes: [number, string, string[]][] = [
    [400, 'invalid_request_error', ['wrong_modality', 'model_mismatch', 'async_mask_unsupported']],
    [401, 'authentication_error', ['invalid_api_key']],
    [404, 'invalid_request_error', ['model_not_found', 'not_found']],
    [409, 'invalid_request_error', ['video_not_ready', 'video_not_cancellable', 'request_not_cancellable']],
    [
      422,
      'invalid_request_error',
      [
        'size_not_supported',
        'resolution_not_supported',
        'duration_mismatch',
        'fps_mismatch',
        'invalid_webhook_url',
        'storage_credential_not_found',
        'storage_credential_not_verified',
      ],
    ],
    [429, 'rate_limit_error', ['rate_limit_exceeded', 'replica_saturated']],
    [502, 'upstream_error', ['upstream_error', 'storage_upload_failed']],
    [503, 'service_unavailable', ['no_pod_available']],
    [503, 'insufficient_quota', ['insufficient_quota']],
    [504, 'timeout_error', ['image_generation_timeout', 'image_edit_timeout']],
  ];
  for (const [status, type, names] of codes)
    it(`has the codes ${names.join(', ')} with ${status} ${type}`, () => {
      for (const name of names)
        expect(ERRORS[name as keyof typeof ERRORS], name).to.include({ status, type });
    });
});
