/** The version of an engine, by its image's tag, and the flags and parsers that depend on it. */
import type { EnginePreset, ModelKind } from '../../api/engine-presets.ts';
import type { ParsingEngine } from './family-table.ts';

/** Undefined: an image does not have to tell its version. */
export type EngineVersion = string | undefined;

/** Flags that an engine has since a version. Those of the oldest supported one (vLLM 0.28, SGLang 0.5.18) are in the presets. */
const FLAGS: Partial<Record<EnginePreset, readonly { since: string; kind: ModelKind; flag: string }[]>> = {
  // Without it, arguments of a forced tool hold their schema only if the request says `strict: true`.
  vllm: [{ since: '0.31', kind: 'LLM', flag: '--tool-strict-level=parameter' }],
};

/** None where the version is unknown: an engine that does not know a flag does not start. */
export const listFlagsSince = (preset: EnginePreset, kind: ModelKind, version: EngineVersion): string[] =>
  (FLAGS[preset] ?? [])
    .filter((each) => version !== undefined && each.kind === kind && isSince(version, each.since))
    .map(({ flag }) => flag);

/** First version of parsers that the oldest supported one lacks. Earlier versions start without. */
export const PARSERS_SINCE: Record<ParsingEngine, Record<string, string>> = {
  vllm: {
    deepseek_v41: '0.30',
    hy_v4: '0.30',
    k2_horizon: '0.30',
    granite_thinking_parser: '0.31',
    hf: '0.32',
    minicpmv: '0.32',
    plamo3: '0.32',
    muse: '0.33',
    step5: '0.33',
  },
  sglang: {
    deepseekv41: '0.5.23',
    'deepseek-v41': '0.5.23',
    gigachat35: '0.5.23',
    granite_thinking_parser: '0.5.23',
    k2_horizon: '0.5.23',
    ling3: '0.5.23',
    response_template: '0.5.23',
  },
};

/** Whether `version` is `since` or later. An unknown one is: it serves a model that needs what came then. */
export function isSince(version: EngineVersion, since: string): boolean {
  if (version === undefined) return true;
  const [given, least] = [version, since].map((text) => text.split('.').map(Number)) as [number[], number[]];
  for (const [index, number] of least.entries()) {
    const difference = (given[index] ?? 0) - number;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Name and tag of an image, without its registry and digest. */
const IMAGE = /(?:^|\/)([^/:@]+):([^/@]+)(?:@.*)?$/;
/** The projects' own names. What others build on them has versions of its own. */
const NAME = /^(?:vllm|vllm-openai|vllm-omni|sglang)(?:-(?:rocm|cpu|xpu))?$/;
/** A tag such as `v0.33.0-cu130`, `v0.5.21-rocm10-mi30x` or `0.32`. */
const TAG = /^v?(\d\.\d+(?:\.\d+){0,2})(?=rc\d|\.post|[-+_]|$)/;

/** Undefined if the tag tells none, such as `latest`, or if it may be a version of something else. */
export function readImageVersion(image: string | undefined): EngineVersion {
  const [, name = '', tag = ''] = IMAGE.exec(image ?? '') ?? [];
  return NAME.test(name) ? TAG.exec(tag)?.[1] : undefined;
}
