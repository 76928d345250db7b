/** The corpus: requests whose answers are recorded from real engines, and which the simulator repeats. A file for each route. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { EngineName, ServedKind } from './catalog.ts';

export interface CorpusRequest {
  /** Unique, such as `completions: two prompts`. */
  title: string;
  kind: ServedKind;
  method: string;
  path: string;
  headers: Record<string, string>;
  text?: string;
  /** Fields of the answer whose value counts, not only its type. */
  values: string[];
}

interface CorpusCase {
  title: string;
  method?: string;
  path?: string;
  /** Added to the base. */
  body?: object;
  /** Fields of the base that are left out. */
  without?: string[];
  /** Instead of a body. */
  text?: string;
  headers?: Record<string, string>;
  /** If absent, all engines. */
  engines?: EngineName[];
  values?: string[];
}

interface CorpusFile {
  path: string;
  kind: ServedKind;
  method?: string;
  base?: object;
  /** Values that `{ "part": NAME }` stands for. */
  parts?: Record<string, unknown>;
  cases: CorpusCase[];
}

export interface CorpusModel {
  id: string;
  /** In tokens. */
  context: number;
}

const FOLDER = join(import.meta.dirname, 'corpus');

export const readCorpus = (engine: EngineName, model: CorpusModel): CorpusRequest[] =>
  globSync('*.json', { cwd: FOLDER })
    .sort()
    .flatMap((name) => {
      const file = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as CorpusFile;
      return file.cases
        .filter(({ engines }) => engines?.includes(engine) ?? true)
        .map((each) => buildRequest(basename(name, '.json'), file, { each, model }));
    });

function buildRequest(
  route: string,
  { path, kind, method = 'POST', base, parts = {} }: CorpusFile,
  { each, model }: { each: CorpusCase; model: CorpusModel },
): CorpusRequest {
  const body: Record<string, unknown> = { model: model.id, ...base, ...each.body };
  for (const field of each.without ?? []) delete body[field];
  const used = each.method ?? method;
  return {
    title: `${route}: ${each.title}`,
    kind,
    method: used,
    path: each.path ?? path,
    headers: { 'content-type': 'application/json', ...each.headers },
    ...(used !== 'GET' && { text: each.text ?? JSON.stringify(fillIn(body, parts, model)) }),
    values: each.values ?? [],
  };
}

/** Replaces parts, repeated texts, and numbers that depend on the model's context. */
function fillIn(value: unknown, parts: Record<string, unknown>, model: CorpusModel): unknown {
  if (Array.isArray(value)) return value.map((item) => fillIn(item, parts, model));
  if (typeof value !== 'object' || value === null) return value;
  const { part, repeat, times, context } = value as Record<string, unknown>;
  if (typeof part === 'string') return parts[part];
  if (typeof repeat === 'string') return repeat.repeat(times as number);
  if (typeof context === 'number') return model.context + context;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillIn(item, parts, model)]));
}
