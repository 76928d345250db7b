import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import {
  deriveId,
  deriveName,
  describeOwnModel,
  linkWeights,
} from '../../../../launch/own-model/own-deployment.ts';

describe('the deployment of a model of one’s own', () => {
  let stateFolder: string;
  beforeEach(() => {
    stateFolder = mkdtempSync(join(tmpdir(), 'berth-own-'));
  });
  afterEach(() => rmSync(stateFolder, { recursive: true }));
  const place = (args: string[] = []) => ({ stateFolder, namespace: 'default', args });

  for (const [id, name] of [
    ['ggml-org/Qwen3-0.6B-GGUF', 'qwen3-0-6b'],
    ['gpt_oss.20B', 'gpt-oss-20b'],
    ['7B-chat', 'model-7b-chat'],
    [`a${'-b'.repeat(60)}`, `a${'-b'.repeat(22)}`],
  ] as const)
    it(`is named after it: ${name}`, () => expect(deriveName(id)).to.equal(name));

  it('has an ID that its schema allows, and a name whatever the file is called', () => {
    for (const given of ['My model (1)', 'Qwen3-0.6B-Q8_0', '模型', '_-_', 'a'.repeat(250)]) {
      const id = deriveId(given);
      const object = describeOwnModel({ preset: 'llama-cpp', id, paths: ['/a.gguf'] }, place());
      expect(modelDeployment.safeParse(object).success, given).to.equal(true);
    }
  });

  it('has its weights in a claim, and the given flags', () => {
    const weights = { preset: 'vllm' as const, id: 'Qwen3-0.6B', paths: ['/models/Qwen3-0.6B'] };
    const { spec } = describeOwnModel(weights, place(['--max-model-len', '4096']));
    expect(spec).to.deep.equal({
      kind: 'LLM',
      model: { id: 'Qwen3-0.6B', source: { pvc: { claimName: 'qwen3-0-6b', path: 'Qwen3-0.6B' } } },
      engine: { preset: 'vllm', args: ['--max-model-len', '4096'] },
    });
  });

  it('links the files into its claim, with the extension that llama.cpp needs', () => {
    const parts = ['/blobs/c-00001-of-00002.GGUF', '/blobs/c-00002-of-00002.GGUF'];
    const paths = ['/blobs/sha256-1', '/blobs/b.gguf', ...parts];
    const weights = { preset: 'llama-cpp' as const, id: 'a', paths };
    const claim = join(stateFolder, 'claims/default/a');
    linkWeights(weights, place());
    // Another start.
    linkWeights(weights, place());
    expect(readlinkSync(join(claim, 'sha256-1.gguf'))).to.equal('/blobs/sha256-1');
    expect(readlinkSync(join(claim, 'b.gguf'))).to.equal('/blobs/b.gguf');
    expect(readlinkSync(join(claim, 'c-00002-of-00002.gguf'))).to.equal('/blobs/c-00002-of-00002.GGUF');
  });

  it('leaves a file alone that is no link', () => {
    const claim = join(stateFolder, 'claims/default/a');
    mkdirSync(claim, { recursive: true });
    writeFileSync(join(claim, 'a.gguf'), 'mine');
    const weights = { preset: 'llama-cpp' as const, id: 'a', paths: ['/other/a.gguf'] };
    expect(() => linkWeights(weights, place())).to.throw(/is in the way/);
    expect(readFileSync(join(claim, 'a.gguf'), 'utf8')).to.equal('mine');
  });
});
