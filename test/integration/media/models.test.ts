import { expect } from 'chai';
import { describeModel } from '../../support/model-replica.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startTextEndpoint } from '../../support/text-endpoint.ts';

describe('GET /v1/models of media models', () => {
  let stack: TestStack;

  before(async () => {
    stack = await TestStack.start();
  });
  after(async () => {
    await stack?.stop();
  });

  const steps = { min: 1, max: 50, default: 20 };
  const models: [string, Record<string, unknown>, string[] | undefined][] = [
    [
      'an image model',
      { kind: 'Image', image: { tasks: ['txt2img', 'img2img'], steps } },
      ['txt2img', 'img2img'],
    ],
    ['a video model', { kind: 'Video', video: { tasks: ['i2v'], steps } }, ['i2v']],
    ['a language model', { kind: 'LLM' }, undefined],
  ];
  for (const [what, spec, tasks] of models)
    it(`lists by task what ${what} applies: ${tasks ?? 'nothing'}`, async () => {
      const endpoint = await startTextEndpoint({
        connection: stack.connection,
        engineURL: 'http://127.0.0.1:1',
        settings: describeModel(spec),
      });
      try {
        const authorization = `Bearer ${await endpoint.makeKey()}`;
        const response = await fetch(`${endpoint.origin}/v1/models`, { headers: { authorization } });
        const { data } = (await response.json()) as {
          data: { supported_parameters?: Record<string, { num_inference_steps: object }> }[];
        };
        expect(data).to.have.length(1);
        const { supported_parameters: supported } = data[0]!;
        expect(supported && Object.keys(supported)).to.deep.equal(tasks);
        for (const task of tasks ?? []) expect(supported![task]!.num_inference_steps).to.deep.equal(steps);
      } finally {
        await endpoint.stop();
      }
    });
});
