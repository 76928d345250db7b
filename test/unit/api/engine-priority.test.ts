import { expect } from 'chai';
import { enginePriorityOf } from '../../../api/engine-priority.ts';
import { modelDeploymentSpec } from '../../../api/model-deployment.ts';
import { build } from '../operator/resources/fixtures.ts';

describe('the priority that an engine takes', () => {
  const orderOf = (preset: string, engine: object = {}, kind = 'LLM') =>
    enginePriorityOf(
      modelDeploymentSpec.parse({
        kind,
        model: { id: 'a/b' },
        engine: { preset, image: 'own:1', ...engine },
      }),
    );

  it('is counted as vLLM and SGLang do, and by no other engine', () => {
    expect(orderOf('vllm')).to.equal('lower-first');
    expect(orderOf('sglang')).to.equal('higher-first');
    for (const preset of ['llama-cpp', 'simulator', 'custom']) expect(orderOf(preset)).to.equal(undefined);
    expect(orderOf('vllm', {}, 'Embedding')).to.equal(undefined);
  });

  it('is none where the spec starts the engine in another way', () => {
    expect(orderOf('vllm', { command: ['serve'] })).to.equal(undefined);
    expect(orderOf('vllm', { args: ['--scheduling-policy', 'fcfs'] })).to.equal(undefined);
    expect(orderOf('sglang', { args: ['--no-enable-priority-scheduling'] })).to.equal(undefined);
    expect(orderOf('sglang', { args: ['--schedule_low_priority_values_first'] })).to.equal(undefined);
    expect(orderOf('vllm', { args: ['--max-model-len=4096'] })).to.equal('lower-first');
    expect(orderOf('sglang', { args: ['--schedule-conservativeness=0.5'] })).to.equal('higher-first');
  });

  it('is what the presets have the engines do', () => {
    const argsOf = (preset: string) => build({ engine: { preset } }).engine.args;
    expect(argsOf('vllm')).to.include('--scheduling-policy=priority');
    expect(argsOf('sglang')).to.include.members([
      '--enable-priority-scheduling',
      '--disable-priority-preemption',
      '--default-priority-value=0',
    ]);
  });
});
