import { setImmediate as settle } from 'node:timers/promises';
import { expect } from 'chai';
import { readModelShape } from '../../../../gateway/hub/model-shape.ts';
import { Fits, FRONT_RETRY_MS, type ModelLookup } from '../../../../operator/fit/fits.ts';
import { makeModel } from '../resources/fixtures.ts';
import { LLAMA_8B } from './model-configs.ts';

const DAY_MS = 86_400_000;
const FOUND = { found: true, shape: readModelShape(LLAMA_8B)!, weightBytes: 16_060_522_496 } as const;

describe('the verdicts on what fits', () => {
  const open = () => {
    const asked: string[] = [];
    const told: string[] = [];
    const hub: { answer: Awaited<ReturnType<ModelLookup>> } = { answer: FOUND };
    const nodes: { list: () => Promise<never> } = { list: async () => ({ items: [] }) as never };
    const clock = { now: 1 };
    const fits = new Fits({
      lookUp: async ({ repo }) => {
        asked.push(repo);
        return hub.answer;
      },
      client: { list: () => nodes.list() },
      hub: 'https://hub.example',
      mayReadNodes: true,
      onChange: (key) => told.push(key),
      now: () => clock.now,
      signal: new AbortController().signal,
    });
    return { asked, told, hub, nodes, clock, fits };
  };
  const makeLLM = (gpu: object = { count: 1, memory: '80Gi' }) =>
    makeModel({
      model: { id: 'm', source: { huggingFace: { repo: 'a/b' } } },
      engine: { preset: 'vllm' },
      gpu,
    });

  it('stay while the hub or the front is away, which is asked again', async () => {
    const { asked, hub, clock, fits } = open();
    const evaluate = async () => {
      fits.evaluate(makeLLM());
      await settle();
      return fits.evaluate(makeLLM());
    };
    expect(await evaluate()).to.include({ reason: 'Fits' });
    for (const answer of [
      { unanswered: 'the front answered 503' },
      { found: false, isFinal: false, message: 'could not be read: the hub returned 503' } as const,
    ]) {
      clock.now += DAY_MS;
      hub.answer = answer;
      expect(await evaluate()).to.include({ reason: 'Fits' });
    }
    hub.answer = { found: false, isFinal: true, message: 'has no config.json' };
    clock.now += DAY_MS;
    expect(await evaluate()).to.include({ reason: 'ModelNotRead' });
    expect(asked).to.have.length(4);
  });

  it('are looked up no more for deployments that are gone', async () => {
    const { asked, told, fits } = open();
    const model = makeLLM();
    fits.evaluate(model);
    fits.delete(`${model.metadata.namespace}/${model.metadata.name}`);
    await settle();
    expect(told).to.deep.equal([]);
    expect(fits.evaluate(model)).to.equal('Pending');
    expect(asked).to.have.length(2);
  });

  it('follow the nodes soon after these could not be read', async () => {
    const { told, nodes, clock, fits } = open();
    const model = makeLLM({ count: 1 });
    nodes.list = () => Promise.reject(new Error('timed out'));
    fits.evaluate(model);
    await settle();
    expect(told).to.have.length(2);
    expect(fits.evaluate(model)).to.equal('Pending');
    nodes.list = async () =>
      ({ items: [{ metadata: { labels: { 'nvidia.com/gpu.memory': '81559' } } }] }) as never;
    clock.now += FRONT_RETRY_MS;
    fits.evaluate(model);
    await settle();
    expect(fits.evaluate(model)).to.include({ reason: 'Fits' });
  });
});
