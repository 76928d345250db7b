import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { readModelReference } from '../../../../launch/own-model/model-reference.ts';

const FILE = resolve('models/tiny.gguf');
const FOLDER = join(homedir(), 'Qwen3-0.6B');
const read = (given: string) =>
  readModelReference(given, (path) => (path === FILE ? 'file' : path === FOLDER ? 'folder' : undefined));

describe('what MODEL names', () => {
  it('is a file or a folder that exists', () => {
    expect(read('models/tiny.gguf')).to.deep.equal({ kind: 'file', path: FILE });
    expect(read('./models/tiny.gguf')).to.deep.equal({ kind: 'file', path: FILE });
    expect(read('~/Qwen3-0.6B/')).to.deep.equal({ kind: 'folder', path: FOLDER });
  });

  for (const [given, repository, variant] of [
    ['ggml-org/Qwen3-0.6B-GGUF:Q8_0', 'ggml-org/Qwen3-0.6B-GGUF', 'Q8_0'],
    ['ggml-org/Qwen3-0.6B-GGUF', 'ggml-org/Qwen3-0.6B-GGUF', undefined],
    ['org/repo:model-a.gguf', 'org/repo', 'model-a.gguf'],
    ['hf.co/org/repo:Q4_K_M', 'org/repo', 'Q4_K_M'],
    ['https://huggingface.co/org/repo', 'org/repo', undefined],
    ['https://huggingface.co/org/repo/tree/main', 'org/repo', undefined],
    ['https://huggingface.co/org/repo/blob/main/q4/a.gguf?download=true', 'org/repo', 'q4/a.gguf'],
  ] as const)
    it(`is a repository of the hub, with what it has to be: ${given}`, () =>
      expect(read(given)).to.deep.equal({ kind: 'repository', repository, variant }));

  for (const given of ['./missing.gguf', 'models/missing.gguf', '/no/such/folder', '~/missing'])
    it(`is no repository if it looks like a path: ${given}`, () =>
      expect(() => read(given)).to.throw(/there is no such file or folder \(\/.*\)\nMODEL may be:/));

  for (const given of ['llama3', 'a/b/c', 'https://example.com/model.gguf'])
    it(`is refused with what is allowed: ${given}`, () =>
      expect(() => read(given)).to.throw(/is neither a path .* nor a repository .*\nMODEL may be:/));
});
