/** Manifests to deploy by name, each with the GPU and the date where it was proved. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { modelDeployment } from '../../api/model-deployment.ts';
import { PRESETS } from '../../operator/engines/presets.ts';

/** Where a manifest was run as it is: its checks passed there (tools/gpu-check.ts). */
export interface Proof {
  gpu: string;
  /** Day, such as 2026-11-29. */
  date: string;
}

interface Entry {
  file: string;
  /** null: not proved. */
  proof: Proof | null;
}

/** Files of examples/ that need nothing besides themselves. */
export const CATALOG: readonly Entry[] = [
  { file: 'llama-cpp.yaml', proof: null },
  { file: 'vllm-llm.yaml', proof: null },
  { file: 'vllm-embedding.yaml', proof: null },
  { file: 'vllm-transcription.yaml', proof: null },
  { file: 'vllm-omni-image.yaml', proof: null },
  { file: 'vllm-omni-speech.yaml', proof: null },
  { file: 'sglang-diffusion-video.yaml', proof: null },
  { file: 'tei-embedding.yaml', proof: null },
  { file: 'tei-rerank.yaml', proof: null },
  { file: 'simulator-chat.yaml', proof: null },
  { file: 'simulator-embedding.yaml', proof: null },
  { file: 'simulator-rerank.yaml', proof: null },
  { file: 'simulator-image.yaml', proof: null },
  { file: 'simulator-video.yaml', proof: null },
  { file: 'simulator-speech.yaml', proof: null },
  { file: 'simulator-transcription.yaml', proof: null },
];

export interface CatalogModel {
  name: string;
  kind: string;
  engine: string;
  model: string;
  gpus: number;
  proof: Proof | null;
  file: string;
}

const PACKED = join(import.meta.dirname, '../catalog');
/** In the package, else in a checkout. */
const FOLDER = existsSync(PACKED) ? PACKED : join(import.meta.dirname, '../../examples');

export const catalogPath = (file: string): string => join(FOLDER, file);

/** In the order of the table. */
export const readCatalog = (): CatalogModel[] =>
  CATALOG.map(({ file, proof }) => {
    const { metadata, spec } = modelDeployment.parse(parse(readFileSync(catalogPath(file), 'utf8')));
    const { preset } = spec.engine;
    return {
      name: metadata.name,
      kind: spec.kind,
      engine: preset,
      model: spec.model.id,
      gpus: spec.gpu?.count ?? PRESETS[preset].gpus,
      proof,
      file,
    };
  });

export function formatCatalog(models: readonly CatalogModel[]): string {
  const rows = models.map(({ name, kind, engine, gpus, model, proof }) => [
    name,
    kind,
    engine,
    engine === 'simulator' ? 'simulated' : gpus === 0 ? 'none' : String(gpus),
    proof ? `${proof.gpu}, ${proof.date}` : 'not proved',
    model,
  ]);
  const all = [['NAME', 'KIND', 'ENGINE', 'GPUS', 'PROVED ON', 'MODEL'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\nDeploy one: berth deploy NAME. See it first: berth deploy NAME --print`;
}
