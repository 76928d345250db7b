/** Writes the manifest that the form of a new deployment describes. Pure. */
import type { EnginePreset, ModelKind } from '../../../api/engine-presets.ts';

export interface NewDeployment {
  name: string;
  kind: ModelKind;
  preset: EnginePreset;
  modelId: string;
  /** On the Hugging Face hub; '' for none. */
  repo: string;
  /** Image for preset custom. */
  image: string;
  /** One a line. */
  args: string;
  gpus: number;
  /** Memory of one GPU in GiB; null: as the nodes say. */
  gpuMemory: number | null;
  size: { replicas: number } | { min: number; max: number };
}

/** YAML that needs no quotes: a word that is not another type. */
const PLAIN = /^(?!(true|false|null|yes|no|on|off|y|n)$)[A-Za-z][\w./-]*$/i;
const scalar = (text: string): string => (PLAIN.test(text) ? text : JSON.stringify(text));

export function writeNewManifest(wanted: NewDeployment, namespace: string): string {
  const { name, kind, preset, modelId, repo, image, args, gpus, gpuMemory, size } = wanted;
  const lines = args
    .split('\n')
    .map((arg) => arg.trim())
    .filter(Boolean);
  const isSimulator = preset === 'simulator';
  return [
    'apiVersion: berth.dev/v1alpha1',
    'kind: ModelDeployment',
    'metadata:',
    `  name: ${scalar(name)}`,
    `  namespace: ${scalar(namespace)}`,
    'spec:',
    `  kind: ${kind}`,
    '  model:',
    `    id: ${scalar(modelId || repo)}`,
    ...(repo && !isSimulator ? ['    source:', '      huggingFace:', `        repo: ${scalar(repo)}`] : []),
    '  engine:',
    `    preset: ${preset}`,
    ...(preset === 'custom' ? [`    image: ${scalar(image)}`] : []),
    ...(lines.length > 0 ? ['    args:', ...lines.map((arg) => `      - ${JSON.stringify(arg)}`)] : []),
    ...(isSimulator
      ? ['  resources:', '    requests: { cpu: 50m, memory: 64Mi }', '    limits: { memory: 256Mi }']
      : ['  gpu:', `    count: ${gpus}`, ...(gpuMemory && gpus > 0 ? [`    memory: ${gpuMemory}Gi`] : [])]),
    ...('replicas' in size
      ? [`  replicas: ${size.replicas}`]
      : ['  scaling:', `    min: ${size.min}`, `    max: ${size.max}`]),
    '',
  ].join('\n');
}
