import { expect } from 'chai';
import { createMetrics } from '../../../../gateway/telemetry/metrics.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CHAT = {
  route: 'chat_completions',
  provider: 'vllm',
  model: 'org/model',
  error: null,
  durationSeconds: 3,
  firstTokenSeconds: 1,
  usage: { inputTokens: 100, outputTokens: 21 },
  traceId: undefined,
};
const ATTRIBUTES =
  'gen_ai_operation_name="chat",gen_ai_provider_name="vllm",gen_ai_request_model="org/model"';

describe("OpenTelemetry's GenAI metrics", () => {
  const render = async (...operations: object[]) => {
    const metrics = createMetrics({ deployment: 'chat' });
    for (const operation of operations) metrics.genAI.observe({ ...CHAT, ...operation });
    return (await metrics.render()).split('\n').filter((line) => line.startsWith('gen_ai_'));
  };
  const boundsOf = (lines: string[], name: string) =>
    lines.flatMap((line) =>
      line.startsWith(`${name}_bucket`)
        ? [Number(/le="([^"]+)"/.exec(line)![1]!.replace('+Inf', 'Infinity'))]
        : [],
    );

  it('tell models of one route from each other, whichever comes next', async () => {
    const lines = await render(
      {},
      { model: 'other' },
      {},
      { provider: 'sglang' },
      { error: 'upstream_error' },
    );
    const countsOf = lines.filter((line) => line.startsWith('gen_ai_server_request_duration_seconds_count'));
    expect(
      countsOf.map((line) => line.replace(/.*request_model="([^"]+)"(.*)deployment.* /, '$1$2 ')),
    ).to.deep.equal(['org/model, 2', 'other, 1', 'org/model, 1', 'org/model,error_type="upstream_error", 1']);
  });

  it('have the attributes and the buckets of the convention', async () => {
    const lines = await render({});
    expect(lines).to.include.members([
      `gen_ai_server_request_duration_seconds_sum{${ATTRIBUTES},deployment="chat"} 3`,
      `gen_ai_server_time_to_first_token_seconds_sum{${ATTRIBUTES},deployment="chat"} 1`,
      `gen_ai_server_time_per_output_token_seconds_sum{${ATTRIBUTES},deployment="chat"} 0.1`,
      `gen_ai_client_token_usage_sum{${ATTRIBUTES},gen_ai_token_type="input",deployment="chat"} 100`,
      `gen_ai_client_token_usage_sum{${ATTRIBUTES},gen_ai_token_type="output",deployment="chat"} 21`,
    ]);
    expect(boundsOf(lines, 'gen_ai_server_request_duration_seconds')).to.deep.equal([
      0.01,
      0.02,
      0.04,
      0.08,
      0.16,
      0.32,
      0.64,
      1.28,
      2.56,
      5.12,
      10.24,
      20.48,
      40.96,
      81.92,
      Infinity,
    ]);
    expect(boundsOf(lines, 'gen_ai_server_time_to_first_token_seconds')).to.deep.equal([
      0.001,
      0.005,
      0.01,
      0.02,
      0.04,
      0.06,
      0.08,
      0.1,
      0.25,
      0.5,
      0.75,
      1,
      2.5,
      5,
      7.5,
      10,
      Infinity,
    ]);
    expect(boundsOf(lines, 'gen_ai_server_time_per_output_token_seconds')).to.deep.equal([
      0.01,
      0.025,
      0.05,
      0.075,
      0.1,
      0.15,
      0.2,
      0.3,
      0.4,
      0.5,
      0.75,
      1,
      2.5,
      Infinity,
    ]);
    expect(boundsOf(lines, 'gen_ai_client_token_usage').slice(0, 15)).to.deep.equal([
      1,
      4,
      16,
      64,
      256,
      1024,
      4096,
      16384,
      65536,
      262144,
      1048576,
      4194304,
      16777216,
      67108864,
      Infinity,
    ]);
  });

  it('tell failures apart, and count neither their first token nor those that follow', async () => {
    const lines = await render({ error: 'upstream_error', usage: null });
    expect(lines.filter((line) => /_count/.test(line))).to.deep.equal([
      `gen_ai_server_request_duration_seconds_count{${ATTRIBUTES},error_type="upstream_error",deployment="chat"} 1`,
    ]);
  });

  it('have no first token of what is answered whole, and none that follow a single one', async () => {
    const lines = await render({ firstTokenSeconds: null }, { usage: { inputTokens: 1, outputTokens: 1 } });
    expect(lines.find((line) => line.startsWith('gen_ai_server_time_to_first_token_seconds_count'))).to.match(
      / 1$/,
    );
    expect(
      lines.some((line) => line.startsWith('gen_ai_server_time_per_output_token_seconds_count')),
    ).to.equal(false);
  });

  it('leave out what is no operation', async () => {
    expect(await render({ route: 'models' }, { route: 'none' })).to.deep.equal([]);
  });
});

describe('the OpenMetrics format', () => {
  it('has the trace of the latest observation of each bucket, and families as Prometheus wants them', async () => {
    const metrics = createMetrics({ deployment: 'chat' });
    metrics.requests.add(1, 'chat_completions', 200);
    metrics.duration.observe('chat_completions', 0.3, 'f'.repeat(32));
    metrics.duration.observe('chat_completions', 0.4, TRACE);
    metrics.duration.observe('chat_completions', 0.4);
    for (let round = 0; round < 2; round++) {
      const lines = (await metrics.renderOpenMetrics()).split('\n');
      expect(lines.at(-1)).to.equal('# EOF');
      expect(lines).to.not.include('');
      expect(lines).to.include('# TYPE berth_gateway_requests counter');
      expect(lines).to.include(
        'berth_gateway_requests_total{route="chat_completions",code="200",deployment="chat"} 1',
      );
      const traced = lines.filter((line) => line.includes('trace_id'));
      expect(traced).to.have.length(1);
      expect(traced[0]).to.match(
        /le="0.5".*\} 3 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} 0\.4 1\d{9}/,
      );
    }
    const plain = await metrics.render();
    expect(plain).to.contain('# TYPE berth_gateway_requests_total counter').and.not.contain('trace_id');
  });
});
