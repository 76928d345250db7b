import { expect } from 'chai';
import { chooseVariant, listVariants } from '../../../../launch/own-model/gguf-variants.ts';

const filesOf = (...paths: string[]) => paths.map((path, index) => ({ path, size: (index + 1) * 1024 ** 3 }));
const choose = (paths: string[], wanted?: string) =>
  chooseVariant(listVariants(filesOf(...paths)), wanted, 'org/repo');

describe('the models of a repository', () => {
  // As publishers name them.
  for (const [path, quantization] of [
    ['Qwen3-0.6B-Q8_0.gguf', 'Q8_0'],
    ['Qwen3-0.6B-f16.gguf', 'F16'],
    ['model-fp16.gguf', 'F16'],
    ['mistral-7b-instruct-v0.2.Q4_K_M.gguf', 'Q4_K_M'],
    ['Meta-Llama-3.1-8B-Instruct-Q4_0_4_4.gguf', 'Q4_0_4_4'],
    ['Meta-Llama-3.1-8B-Instruct-IQ2_XXS.gguf', 'IQ2_XXS'],
    ['gpt-oss-20b-mxfp4.gguf', 'MXFP4'],
    ['UD-Q4_K_XL/Qwen3-30B-A3B-UD-Q4_K_XL.gguf', 'UD-Q4_K_XL'],
    ['BF16/Qwen3-30B-A3B-00001-of-00001.gguf', 'BF16'],
    ['ggml-model-i2_s.gguf', undefined],
  ] as const)
    it(`have a quantization by their path: ${path}`, () =>
      expect(listVariants(filesOf(path))[0]).to.have.property('quantization', quantization));

  it('are neither projectors nor statistics nor other files', () => {
    const paths = ['README.md', 'mmproj-model-f16-4B.gguf', 'a-imatrix.gguf', 'imatrix.dat', 'a-Q4_0.gguf'];
    expect(listVariants(filesOf(...paths)).map(({ path }) => path)).to.deep.equal(['a-Q4_0.gguf']);
  });

  it('are whole where they are split, in order, and only if each part is there', () => {
    const part = (number: number) => `q8/a-Q8_0-0000${number}-of-00003.gguf`;
    const [variant, ...others] = listVariants(filesOf(part(2), part(1), part(3)));
    expect(others).to.deep.equal([]);
    expect(variant!.files.map(({ path }) => path)).to.deep.equal([part(1), part(2), part(3)]);
    expect([variant!.path, variant!.bytes]).to.deep.equal(['q8/a-Q8_0.gguf', 6 * 1024 ** 3]);
    expect(listVariants(filesOf(part(1), part(3)))).to.deep.equal([]);
  });
});

describe('the choice of a model', () => {
  const THREE = ['a-Q2_K.gguf', 'a-Q4_K_M.gguf', 'a-Q8_0.gguf'];

  it('is that of the quantization, in any case', () => {
    expect(choose(THREE, 'q8_0').path).to.equal('a-Q8_0.gguf');
    expect(choose(['a-F16.gguf', 'a-Q8_0.gguf'], 'fp16').path).to.equal('a-F16.gguf');
  });

  it('is that of a file, by its path or its name', () => {
    for (const wanted of ['q4/b.gguf', 'b.gguf'])
      expect(choose(['q4/a.gguf', 'q4/b.gguf'], wanted).path).to.equal('q4/b.gguf');
    const first = 'a-Q8_0-00001-of-00001.gguf';
    expect(choose([first, 'b-Q8_0.gguf'], first).path).to.equal('a-Q8_0.gguf');
  });

  it('needs no quantization for the only one, nor for Q4_K_M', () => {
    expect(choose(['a.gguf']).path).to.equal('a.gguf');
    expect(choose(THREE).path).to.equal('a-Q4_K_M.gguf');
  });

  it('names those that exist, with their sizes, as MODEL takes them', () => {
    expect(() => choose(THREE, 'Q5_0')).to.throw(
      [
        'org/repo has no Q5_0. Choose one:',
        '  MODEL=org/repo:Q2_K  (1.00 GiB)',
        '  MODEL=org/repo:Q4_K_M  (2.00 GiB)',
        '  MODEL=org/repo:Q8_0  (3.00 GiB)',
      ].join('\n'),
    );
    expect(() => choose(['a-Q2_K.gguf', 'a-Q8_0.gguf'])).to.throw(/^org\/repo has several models\. Choose/);
  });

  it('names files where a quantization is ambiguous', () => {
    const paths = ['a-Q8_0.gguf', 'b-Q8_0.gguf', 'b-Q2_K.gguf'];
    expect(() => choose(paths, 'Q8_0')).to.throw(
      /several models of Q8_0\. Choose one:\n {2}MODEL=org\/repo:a-Q8_0\.gguf .*\n {2}MODEL=org\/repo:b-Q8_0\.gguf [^\n]*$/,
    );
  });

  it('says where GGUF models are if there is none', () =>
    expect(() => choose(['model.safetensors'])).to.throw(/org\/repo has no GGUF model: .*-GGUF/));
});
