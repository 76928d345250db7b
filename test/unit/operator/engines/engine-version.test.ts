import { expect } from 'chai';
import { isSince, readImageVersion } from '../../../../operator/engines/engine-version.ts';
import { build } from '../resources/fixtures.ts';

describe('the version of an engine', () => {
  const images: Record<string, string | undefined> = {
    'docker.io/vllm/vllm-openai:v0.33.0': '0.33.0',
    'docker.io/vllm/vllm-openai:v0.31.0-cu129': '0.31.0',
    'registry.example:5000/mirror/vllm-openai:0.32': '0.32',
    'vllm/vllm-omni:v0.30.0@sha256:0011': '0.30.0',
    'docker.io/lmsysorg/sglang:v0.5.18-rocm720-mi30x': '0.5.18',
    'docker.io/lmsysorg/sglang:v0.5.12.post1': '0.5.12',
    'vllm/vllm-openai:latest': undefined,
    'vllm/vllm-openai:nightly-0011': undefined,
    'vllm/vllm-openai@sha256:0011': undefined,
    'vllm/vllm-openai': undefined,
    'registry.example:5000/vllm': undefined,
    'own/vllm:1': undefined,
    'nvcr.io/nvidia/vllm:25.09-py3': undefined,
    'nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0': undefined,
    'rocm/vllm:rocm7.0.0_vllm_0.28.1': undefined,
    'lmcache/vllm-openai:v0.3.9post1': undefined,
    'vllm/vllm-openai:v0.28.0rc1': '0.28.0',
    'own/chat-model:0.1.0': undefined,
  };
  for (const [image, version] of Object.entries(images))
    it(`is ${version ?? 'not known'} by the image ${image}`, () => {
      expect(readImageVersion(image)).to.equal(version);
    });

  it('is compared number by number, and unknown is late enough for a parser', () => {
    expect(isSince('0.31.0', '0.31')).to.equal(true);
    expect(isSince('0.31', '0.31.0')).to.equal(true);
    expect(isSince('0.9.2', '0.31')).to.equal(false);
    expect(isSince('0.5.9', '0.5.18')).to.equal(false);
    expect(isSince('1.0', '0.31')).to.equal(true);
    expect(isSince(undefined, '0.31')).to.equal(true);
  });
});

describe('flags that depend on the version of the engine', () => {
  const STRICT = '--tool-strict-level=parameter';
  const isStrict = (engine: object, more: object = {}, settings: object = {}) =>
    build({ engine: { preset: 'vllm', ...engine }, ...more }, settings).engine.args!.includes(STRICT);

  it('hold vLLM to the schemas of tools where it has the flag', () => {
    expect(isStrict({})).to.equal(true);
    expect(isStrict({ image: 'vllm/vllm-openai:v0.31.0' })).to.equal(true);
    expect(isStrict({ image: 'vllm/vllm-openai:v0.30.2' })).to.equal(false);
    expect(isStrict({ image: 'vllm/vllm-openai:latest' })).to.equal(false);
    expect(isStrict({}, { kind: 'Embedding' })).to.equal(false);
  });

  it('follow the version of the spec before the tag', () => {
    expect(isStrict({ image: 'own:1', version: '0.30.0' })).to.equal(false);
    expect(isStrict({ image: 'vllm/vllm-openai:v0.30.0', version: '0.33.0' })).to.equal(true);
  });

  it('follow the image of the installation', () => {
    expect(isStrict({}, {}, { engineImages: { vllm: 'mirror/vllm-openai:v0.30.0' } })).to.equal(false);
  });

  it('are replaced by those of the spec', () => {
    const { engine } = build({ engine: { preset: 'vllm', args: ['--tool-strict-level=auto'] } });
    expect(engine.args!.filter((arg) => arg.includes('strict'))).to.deep.equal(['--tool-strict-level=auto']);
  });
});
