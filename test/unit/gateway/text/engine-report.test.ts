import { expect } from 'chai';
import type { ModelKind } from '../../../../api/engine-presets.ts';
import { EngineReport } from '../../../../gateway/text/engine-report.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { pollUntil } from '../../../support/poll.ts';
import { startScriptedEngine } from '../../../support/text-endpoint.ts';

describe('what an engine reports', () => {
  let engine: Awaited<ReturnType<typeof startScriptedEngine>>;
  let pools: Pools;
  let clock: FakeClock;
  /** By path; others return 404. */
  let answers: Record<string, string>;
  let status: number;
  let asked: string[];

  before(async () => {
    engine = await startScriptedEngine((req, res) => {
      asked.push(req.url!);
      const answer = answers[req.url!];
      res.writeHead(answer === undefined ? 404 : status).end(answer ?? '{}');
    });
    pools = new Pools();
  });
  after(async () => {
    await pools.destroy();
    await engine.stop();
  });
  beforeEach(() => {
    answers = {};
    status = 200;
    asked = [];
    clock = new FakeClock();
  });
  const open = (enginePreset: string, kind: ModelKind = 'LLM') =>
    new EngineReport({ pool: () => pools.get(engine.url), config: () => ({ kind, enginePreset }), clock });
  const listing = (length: number) => JSON.stringify({ data: [{ id: 'm', max_model_len: length }] });

  const told: [preset: string, path: string, answer: string][] = [
    ['vllm', '/v1/models', listing(4_096)],
    ['sglang', '/v1/models', listing(4_096)],
    ['custom', '/v1/models', listing(4_096)],
    ['llama-cpp', '/props', '{"default_generation_settings":{"n_ctx":4096}}'],
    ['tei', '/info', '{"max_input_length":4096}'],
  ];
  for (const [preset, path, answer] of told)
    it(`is what ${preset} tells`, async () => {
      answers[path] = answer;
      const length = open(preset);
      length.refresh();
      await pollUntil(() => length.contextLength === 4_096, 'the length');
      expect(asked).to.deep.equal([path]);
    });

  const silent: [string, string | undefined][] = [
    ['that has no such route', undefined],
    ['that does not tell it', '{"data":[{"id":"m"}]}'],
    ['that answers no JSON', 'hello'],
    ['that answers something else', '[null]'],
    ['that tells nonsense', listing(-1)],
    ['that answers without end', `"${'x'.repeat(2_000_000)}"`],
  ];
  for (const [name, answer] of silent)
    it(`is unknown of an engine ${name}, which is asked again later`, async () => {
      if (answer !== undefined) answers['/v1/models'] = answer;
      const length = open('custom');
      expect(length.contextLength).to.equal(null);
      await pollUntil(() => asked.length === 1, 'the question');
      expect(length.contextLength).to.equal(null);
      answers['/v1/models'] = listing(8);
      await clock.advance(31_000);
      await pollUntil(() => length.contextLength === 8, 'the length');
      expect(asked).to.have.length(2);
    });

  it('is nothing that models of other kinds have', () => {
    const length = open('simulator', 'Image');
    length.refresh();
    expect(length.contextLength).to.equal(null);
    expect(asked).to.deep.equal([]);
  });

  it('is that of the process that runs now', async () => {
    answers['/v1/models'] = listing(8);
    const length = open('vllm');
    length.refresh();
    await pollUntil(() => length.contextLength === 8, 'the length');
    answers['/v1/models'] = listing(16);
    length.refresh();
    expect(length.contextLength).to.equal(8);
    await pollUntil(() => length.contextLength === 16, 'the new length');
  });

  const capable: [string | undefined, boolean][] = [
    ['{"chat_template_caps":{"supports_tools":false}}', false],
    ['{"chat_template_caps":{"supports_tools":true}}', true],
    // What it does not say is assumed.
    ['{"default_generation_settings":{"n_ctx":4096}}', true],
    [undefined, true],
  ];
  for (const [props, expected] of capable)
    it(`is whether llama.cpp's template has tools: ${expected} by ${props}`, async () => {
      if (props) answers['/props'] = props;
      const report = open('llama-cpp');
      expect(report.takesTools).to.equal(null);
      await pollUntil(() => asked.length === 1, 'the question');
      await pollUntil(() => report.takesTools === expected, 'the answer');
    });

  it('is unknown while llama.cpp loads its model, which is 503', async () => {
    status = 503;
    answers['/props'] = '{"error":{"code":503,"message":"Loading model"}}';
    const report = open('llama-cpp');
    expect(report.takesTools).to.equal(null);
    await pollUntil(() => asked.length === 1, 'the question');
    status = 200;
    answers['/props'] = '{"chat_template_caps":{"supports_tools":false}}';
    await pollUntil(() => {
      report.refresh();
      return report.takesTools !== null;
    }, 'the answer');
    expect(report.takesTools).to.equal(false);
  });
});
