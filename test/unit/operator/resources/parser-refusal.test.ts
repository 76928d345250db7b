import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { trimPod } from '../../../../operator/framework/cluster-view.ts';
import { build } from './fixtures.ts';

type Built = ReturnType<typeof build>;

const refusal = (parsers: string): string =>
  `INFO starting\nTypeError: ${parsers} cannot be used with the tokenizer of '/models': HermesParser could not locate a token`;
const REFUSED = refusal('--tool-call-parser hermes and --reasoning-parser qwen3');

/** A pod of what was built, as the operator caches it. */
const crashed = ({ engine }: Built, message: string, state: 'state' | 'lastState' = 'lastState'): V1Pod =>
  trimPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod' },
    spec: { containers: [engine] },
    status: {
      containerStatuses: [
        {
          name: 'engine',
          image: 'i',
          imageID: '',
          ready: false,
          restartCount: 1,
          [state]: { terminated: { exitCode: 1, message } },
        },
      ],
    },
  }) as unknown as V1Pod;

/** Builds once, and again after pods of the first Deployment have ended with these words. */
function rebuild(message: string, { engine, spec }: { engine?: object; spec?: object } = {}) {
  const wanted = { engine: { preset: 'vllm', ...engine }, ...spec };
  const first = build(wanted);
  const second = build(
    wanted,
    {},
    { deployment: first.deploymentObject as never, pods: [crashed(first, message)] },
  );
  return { wanted, first, second };
}

const parsersOf = ({ engine }: Built) =>
  engine.args!.filter((arg) => /parser|auto-tool|chat-template/.test(arg));

describe('parsers that the tokenizer of a model does not fit', () => {
  it('are left out if their family was guessed, and the status says so', () => {
    const { first, second } = rebuild(REFUSED);
    expect(parsersOf(first)).not.to.deep.equal([]);
    expect(parsersOf(second)).to.deep.equal([]);
    expect(second.isWithoutParsers).to.equal(true);
    expect(second.engineStatus?.message).to.equal(
      "the parsers of family qwen3, guessed by the model's name, do not fit its tokenizer: tool calls and reasoning are not read; set engine.family",
    );
  });

  it('are left out after the first crash already', () => {
    const first = build({});
    const context = { deployment: first.deploymentObject as never, pods: [crashed(first, REFUSED, 'state')] };
    expect(parsersOf(build({}, {}, context))).to.deep.equal([]);
  });

  it('stay left out when the pods that crashed are gone, also by a later operator', () => {
    const { wanted, second } = rebuild(REFUSED);
    const third = build(
      wanted,
      { version: '2.0.0', gatewayImage: 'berth/berth:2.0.0' },
      { deployment: second.deploymentObject as never, pods: [] },
    );
    expect(JSON.stringify(third.template)).to.equal(JSON.stringify(second.template));
    expect(third.isWithoutParsers).to.equal(true);
  });

  it('are tried again for another model', () => {
    const { second } = rebuild(REFUSED);
    const other = { model: { id: 'b', source: { huggingFace: { repo: 'Qwen/Qwen3-4B' } } } };
    const third = build(other, {}, { deployment: second.deploymentObject as never, pods: [] });
    expect(parsersOf(third)).not.to.deep.equal([]);
    expect(third.isWithoutParsers).to.equal(false);
  });

  for (const [what, engine] of [
    ['family', { family: 'qwen3' }],
    ['command', { command: ['vllm', 'serve'], args: ['--tool-call-parser=hermes'], family: 'none' }],
  ] as const)
    it(`are kept if the spec names the ${what}`, () => {
      const { first, second } = rebuild(REFUSED, { engine });
      expect(parsersOf(second)).to.deep.equal(parsersOf(first));
      expect(second.isWithoutParsers).to.equal(false);
    });

  it('are tried for another spec though a pod of the former one still tells of its end', () => {
    const { first, second } = rebuild(REFUSED);
    const other = { engine: { preset: 'vllm', image: 'vllm/vllm-openai:v0.30.0' } };
    const third = build(other, {}, { deployment: second.deploymentObject as never });
    const pods = [crashed(first, REFUSED)];
    const fourth = build(other, {}, { deployment: third.deploymentObject as never, pods });
    expect(fourth.isWithoutParsers).to.equal(false);
    expect(parsersOf(fourth)).to.deep.equal(parsersOf(third)).and.not.to.deep.equal([]);
  });

  it('are kept if the one that does not fit is the spec’s own', () => {
    const engine = { args: ['--tool-call-parser=hermes'] };
    const { first, second } = rebuild(refusal('--tool-call-parser hermes'), { engine });
    expect(parsersOf(second)).to.deep.equal(parsersOf(first));
    expect(second.isWithoutParsers).to.equal(false);
  });

  it('are kept if the engine ended for another reason, or with other parsers', () => {
    for (const message of ['CUDA out of memory', refusal('--tool-call-parser mistral')])
      expect(parsersOf(rebuild(message).second)).not.to.deep.equal([]);
  });
});
