import { expect } from 'chai';
import { MODEL_FAMILIES } from '../../../../api/model-families.ts';
import { PARSERS_SINCE } from '../../../../operator/engines/engine-version.ts';
import { decideParsers } from '../../../../operator/engines/model-families.ts';
import { listCommandFlags } from '../../../engines/preset-commands.ts';
import { readPresetVersion } from '../../../engines/preset-version.ts';
import { loadRegistries, RECORDED_ENGINES } from '../../../engines/registries.ts';

/** vLLM-Omni adds its flags to those of the vLLM that it extends. */
const BASE_OF: Record<string, string> = { 'vllm-omni': 'vllm' };

describe('the wheels of an engine', () => {
  for (const engine of RECORDED_ENGINES) {
    const registries = loadRegistries(engine);
    const base = BASE_OF[engine] ? loadRegistries(BASE_OF[engine]) : undefined;

    it(`are recorded in the version of the preset’s image: ${engine}`, () => {
      expect(Object.keys(registries).at(-1), 'run test/engines/record_registries.py').to.equal(
        readPresetVersion(engine),
      );
    });

    for (const [version, { flags }] of Object.entries(registries))
      it(`have all flags of the preset: ${engine} ${version}`, () => {
        const known = new Set([...flags, ...(base?.[version]?.flags ?? [])]);
        const words = listCommandFlags(engine, version).map((word) => word.split('=', 1)[0]!);
        expect(words.length).to.be.greaterThan(4);
        expect(words.filter((word) => !known.has(word))).to.deep.equal([]);
      });
  }

  for (const engine of ['vllm', 'sglang'] as const) {
    const registries = Object.entries(loadRegistries(engine));

    for (const [version, registry] of registries)
      it(`have the parsers of every family: ${engine} ${version}`, () => {
        for (const family of MODEL_FAMILIES) {
          const { tools, reasoning } = decideParsers(engine, { family, version });
          if (tools) expect(registry.tools, family).to.include(tools);
          if (reasoning) expect(registry.reasoning, family).to.include(reasoning);
        }
      });

    it(`lack a parser before the version that has it: ${engine}`, () => {
      for (const [parser, since] of Object.entries(PARSERS_SINCE[engine])) {
        const having = registries.filter(([, { tools, reasoning }]) =>
          [...tools, ...reasoning].includes(parser),
        );
        expect(having[0]?.[0], parser).to.match(new RegExp(`^${since.replaceAll('.', '\\.')}(\\.|$)`));
      }
    });
  }
});
