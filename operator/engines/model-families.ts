/** The family of a model by its name, and the engine options for it. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import type { ModelFamily } from '../../api/model-families.ts';
import type { ModelSource } from '../../api/model-source.ts';
import { readArgument } from './arguments.ts';
import { type EngineVersion, isSince, PARSERS_SINCE } from './engine-version.ts';
import { FAMILIES, type Family, type Parsers, type ParsingEngine } from './family-table.ts';

const AUTO: Parsers = { tools: 'auto', reasoning: 'auto' };

const ENTRIES = Object.entries(FAMILIES) as [Exclude<ModelFamily, 'none'>, Family][];

/** `none` if it is unknown, or makes no difference. */
export function decideFamily({ kind, engine, model }: ModelDeploymentSpec): ModelFamily {
  if (kind !== 'LLM') return 'none';
  if (engine.family !== undefined) return engine.family;
  for (const name of listNames(model.source, model.id)) {
    const found = ENTRIES.find(([, { pattern }]) => pattern.test(name));
    if (found) return found[0];
  }
  return 'none';
}

/** Names of the weights, the most reliable first, in lowercase. */
export function listNames({ huggingFace, s3, pvc, image }: ModelSource, modelId: string): string[] {
  const names = [
    huggingFace?.repo,
    s3?.uri,
    pvc?.path,
    pvc?.claimName,
    image?.path,
    image?.reference,
    modelId,
  ];
  return names.filter((name) => name !== undefined).map((name) => name.toLowerCase());
}

/** A file of the engine's examples; undefined if the model's own template works. */
export function decideChatTemplate(engine: ParsingEngine, spec: ModelDeploymentSpec): string | undefined {
  // It is written for the family's parser.
  if (readArgument(spec.engine.args, 'tool-call-parser') !== undefined) return undefined;
  const family = decideFamily(spec);
  const templates = family === 'none' ? [] : (FAMILIES[family].templates?.[engine] ?? []);
  const names = listNames(spec.model.source, spec.model.id);
  return templates.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];
}

export function decideParsers(
  engine: ParsingEngine,
  { family, version }: { family: ModelFamily; version?: EngineVersion },
): Parsers {
  const known = family === 'none' ? undefined : FAMILIES[family][engine];
  // SGLang can inspect the model's chat template.
  const other: Parsers = engine === 'sglang' ? AUTO : {};
  if (!known) return other;
  const isKnown = (parser: string) => isSince(version, PARSERS_SINCE[engine][parser] ?? '0');
  const found = (Object.entries(known) as [keyof Parsers, string][]).map(
    ([kind, parser]) => [kind, isKnown(parser) ? parser : other[kind]] as const,
  );
  return Object.fromEntries(found.filter(([, parser]) => parser !== undefined));
}
