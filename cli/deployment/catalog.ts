/** Manifests to deploy by name, each with what was checked of it, and where it was run. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { modelDeployment } from '../../api/model-deployment.ts';
import { PRESETS } from '../../operator/engines/presets.ts';

/** Where a manifest was run as it is: its checks passed there. On a GPU they are those of tools/gpu-check.ts. */
export interface Proof {
  /** Such as `one H200`. */
  on: string;
  /** Day, such as 2026-11-29. */
  date: string;
}

interface Entry {
  file: string;
  /**
   * The engine and version that all flags and parsers of the manifest's pod are known to, by its own help or sources; null: it has no flags.
   * Without a GPU: that is no run. A unit test holds each to the records, and the models' contexts and sizes to their published configurations.
   */
  flags: string | null;
  /** null: not run. */
  proof: Proof | null;
}

/** Files of examples/ that need nothing besides themselves. */
export const CATALOG: readonly Entry[] = [
  { file: 'llama-cpp.yaml', flags: 'llama.cpp 11669', proof: null },
  { file: 'vllm-llm.yaml', flags: 'vLLM 0.33.0', proof: null },
  { file: 'vllm-embedding.yaml', flags: 'vLLM 0.33.0', proof: null },
  { file: 'vllm-transcription.yaml', flags: 'vLLM 0.30.0', proof: null },
  { file: 'vllm-omni-image.yaml', flags: 'vLLM-Omni 0.30.0', proof: null },
  { file: 'vllm-omni-speech.yaml', flags: 'vLLM-Omni 0.30.0', proof: null },
  { file: 'sglang-diffusion-video.yaml', flags: 'SGLang 0.5.23', proof: null },
  { file: 'tei-embedding.yaml', flags: 'TEI 1.9', proof: null },
  { file: 'tei-rerank.yaml', flags: 'TEI 1.9', proof: null },
  { file: 'simulator-chat.yaml', flags: null, proof: null },
  { file: 'simulator-embedding.yaml', flags: null, proof: null },
  { file: 'simulator-rerank.yaml', flags: null, proof: null },
  { file: 'simulator-image.yaml', flags: null, proof: null },
  { file: 'simulator-video.yaml', flags: null, proof: null },
  { file: 'simulator-speech.yaml', flags: null, proof: null },
  { file: 'simulator-transcription.yaml', flags: null, proof: null },
];

export interface CatalogModel {
  name: string;
  kind: string;
  engine: string;
  model: string;
  gpus: number;
  flags: string | null;
  proof: Proof | null;
  file: string;
}

const PACKED = join(import.meta.dirname, '../catalog');
/** In the package, else in a checkout. */
const FOLDER = existsSync(PACKED) ? PACKED : join(import.meta.dirname, '../../examples');

export const catalogPath = (file: string): string => join(FOLDER, file);

/** In the order of the table. */
export const readCatalog = (): CatalogModel[] =>
  CATALOG.map(({ file, flags, proof }) => {
    const { metadata, spec } = modelDeployment.parse(parse(readFileSync(catalogPath(file), 'utf8')));
    const { preset } = spec.engine;
    return {
      name: metadata.name,
      kind: spec.kind,
      engine: preset,
      model: spec.model.id,
      gpus: spec.gpu?.count ?? PRESETS[preset].gpus,
      flags,
      proof,
      file,
    };
  });

export function formatCatalog(models: readonly CatalogModel[]): string {
  const rows = models.map(({ name, kind, engine, gpus, model, flags, proof }) => [
    name,
    kind,
    engine,
    engine === 'simulator' ? 'simulated' : gpus === 0 ? 'none' : String(gpus),
    flags ?? 'none',
    proof ? `${proof.on}, ${proof.date}` : 'not run',
    model,
  ]);
  const all = [['NAME', 'KIND', 'ENGINE', 'GPUS', 'FLAGS CHECKED', 'RUN ON', 'MODEL'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\nDeploy one: berth deploy NAME. See it first: berth deploy NAME --print`;
}
