import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ERRORS } from '../../../../api/errors.ts';
import type { GatewayConfig } from '../../../../api/gateway-config.ts';
import { formatErrorEvent } from '../../../../gateway/http/error-event.ts';
import {
  ApiError,
  anthropicStatus,
  buildAnthropicError,
  buildEnvelope,
  buildErrorHeaders,
} from '../../../../gateway/http/error-response.ts';
import {
  explainMissingEngine,
  explainMissingReplica,
  explainRedisOutage,
  findShutdown,
  refuseAsUnavailable,
  UNAVAILABILITIES,
  type Unavailability,
} from '../../../../gateway/http/unavailability.ts';

const readHeaders = (error: ApiError): Record<string, string> => {
  const list = buildErrorHeaders(error, 'id');
  return Object.fromEntries(list.flatMap((name, index) => (index % 2 ? [] : [[name, list[index + 1]!]])));
};
const readEvent = (error: ApiError, url: string) =>
  JSON.parse(
    /data: (.*)\n\n$/.exec(formatErrorEvent(error, { req: { url, headers: {} }, requestId: 'id' }))![1]!,
  );

describe('every 503', () => {
  for (const why of Object.keys(UNAVAILABILITIES) as Unavailability[]) {
    const { code, retryAfter } = UNAVAILABILITIES[why];
    const isFinal = retryAfter === null;
    const error = refuseAsUnavailable(why, 'No.');

    it(`for ${why} says ${isFinal ? 'that no retry helps, and never when to come back' : 'when to come back'}`, () => {
      expect(error.status).to.equal(503);
      const headers = readHeaders(error);
      expect(headers['retry-after']).to.equal(isFinal ? undefined : String(retryAfter));
      expect(headers['x-should-retry']).to.equal(isFinal ? 'false' : undefined);
      if (!isFinal) expect(retryAfter).to.be.within(1, 60);
    });

    it(`for ${why} has ${code}, to Anthropic's clients an error that they ${isFinal ? 'do not wait out' : 'wait out'}, in events too`, () => {
      const type =
        code === 'insufficient_quota' ? 'billing_error' : isFinal ? 'api_error' : 'overloaded_error';
      expect(anthropicStatus(error)).to.equal(code === 'insufficient_quota' ? 402 : 503);
      expect(buildAnthropicError(error, 'id').error.type).to.equal(type);
      expect(readEvent(error, '/v1/messages').error.type).to.equal(type);
      const envelope = { code, type: ERRORS[code].type };
      expect(buildEnvelope(error).error).to.include(envelope);
      for (const url of ['/v1/chat/completions', '/v1/responses'])
        expect(readEvent(error, url).error).to.include(envelope);
    });
  }

  it('loses its Retry-After where a retry would only repeat the work', () => {
    const { 'retry-after': retryAfter, ...headers } = readHeaders(
      refuseAsUnavailable('memory', 'No.').withoutRetry(),
    );
    expect([retryAfter, headers['x-should-retry']]).to.deep.equal([undefined, 'false']);
  });

  it('is made by the table', () => {
    const root = join(import.meta.dirname, '../../../../gateway');
    const others = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (path) =>
        path.endsWith('.ts') &&
        /new ApiError\(\s*'(no_pod_available|temporarily_unavailable)'/.test(
          readFileSync(join(root, path), 'utf8'),
        ),
    );
    expect(others).to.deep.equal([]);
  });
});

describe('a 429 that lasts for long', () => {
  it('keeps its Retry-After, although SDKs are not to wait for it', () => {
    const headers = readHeaders(new ApiError('rate_limit_exceeded', 'No.', { retryAfter: 3_600 }));
    expect(headers).to.include({ 'retry-after': '3600', 'x-should-retry': 'false' });
  });
});

describe('why no replica is ready', () => {
  const config = (fields: Partial<GatewayConfig>) =>
    ({
      namespace: 'a',
      name: 'chat',
      paused: false,
      deleting: false,
      replicas: 1,
      ...fields,
    }) as GatewayConfig;
  const scaling = { coldStart: 'Hold', holdForMs: 1, loadTimeMs: null } as const;
  const cases: [Partial<GatewayConfig>, RegExp, number | null][] = [
    [{}, /no ready replica yet: it is starting, or waits for a node/, 5],
    [{ replicas: undefined, scaling }, /starting/, 30],
    [{ obstacle: 'Unhealthy' }, /no ready replica: its engine does not pass its health check/, 5],
    [{ obstacle: 'Failed' }, /is not running: the Ready condition of its ModelDeployment says why/, null],
    [{ obstacle: 'Invalid', scaling }, /is not running/, null],
    [{ obstacle: 'WaitingForQuota' }, /has no ready replica: it waits for GPUs in a queue/, 60],
    [{ obstacle: 'WaitingForQuota', scaling }, /waits for GPUs/, 60],
    [{ obstacle: 'WaitingForQuota', paused: true }, /is paused/, null],
    [{ replicas: 0 }, /is scaled to zero replicas/, null],
    [{ paused: true, obstacle: 'Failed' }, /is paused/, null],
    [{ deleting: true, paused: true }, /is being deleted/, null],
  ];
  for (const [fields, message, retryAfter] of cases)
    it(`is told of ${JSON.stringify(fields)}, and whether that passes by itself`, () => {
      const error = explainMissingReplica(config(fields));
      expect(error.message).to.match(message);
      expect(error.message, 'one form of name').to.match(/^The deployment chat /);
      expect(readHeaders(error)['retry-after']).to.equal(
        retryAfter === null ? undefined : String(retryAfter),
      );
      expect(error.mayRetry).to.equal(retryAfter !== null);
      if (!/starting/.test(message.source)) expect(error.message).not.to.include('starting');
    });

  it('takes the rest of a measured start as Retry-After, but of nothing that does not start', () => {
    expect(explainMissingReplica(config({}), 40).details.retryAfter).to.equal(40);
    for (const fields of [{ replicas: 0 }, { obstacle: 'Failed' as const }])
      expect(readHeaders(explainMissingReplica(config(fields), 40))).not.to.have.property('retry-after');
  });

  it('is the same beside an engine that does not serve, whose own state is not known for sure', () => {
    expect(explainMissingEngine(config({ obstacle: 'Failed' })).message).to.match(/is not running/);
    const unknown = explainMissingEngine(config({}));
    expect(unknown.message).to.match(/no ready replica: the engine is starting or has failed/);
    expect(unknown.details.retryAfter).to.equal(5);
  });

  it('is no reason to refuse what replicas serve, unless the deployment is paused or deleted', () => {
    expect(findShutdown(config({ obstacle: 'Failed', replicas: 0 }))).to.equal(null);
    expect(findShutdown(config({ paused: true }))!.mayRetry).to.equal(false);
  });
});

describe('an outage of Redis', () => {
  it('is not what an error quotes of a client or an engine', () => {
    for (const message of [
      '`temperature` must be a number, not "can\'t run this".',
      'OOM: reduce max_tokens',
    ]) {
      const error = new ApiError('invalid_request_error', message);
      expect(explainRedisOutage(error)).to.equal(error);
    }
  });

  it('is answered 503 with Retry-After', () => {
    const error = explainRedisOutage(new Error('Connection is closed.')) as ApiError;
    expect([error.status, error.code, error.details.retryAfter]).to.deep.equal([
      503,
      'temporarily_unavailable',
      2,
    ]);
  });

  it('is distinguished from other errors, which stay as they are', () => {
    const error = new Error('ERR a mistake');
    expect(explainRedisOutage(error)).to.equal(error);
  });
});
