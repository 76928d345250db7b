/** The engines that run without a GPU. Deployments have only the settings that a CPU and a tiny model need. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTinyModel } from '../../cluster/tiny-gguf.ts';
import { ensureFolder } from '../../machine/cached-folder.ts';
import { ensureLlamaServer, readLlamaVersion } from '../../machine/llama-server.ts';
import { ensureModel, ensurePythonEngine, type PythonEngine } from './python-engine.ts';

export const ENGINE_NAMES = ['vllm', 'llama-cpp', 'vllm-omni', 'sglang-diffusion', 'sglang'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

export type ServedKind = 'LLM' | 'Embedding' | 'Rerank' | 'Transcription' | 'Image' | 'Video';

/** Part of a deployment's spec. */
export interface TinyModel {
  /** A folder that is used as the deployment's claim, and the path in it. */
  folder: string;
  path: string;
  args: string[];
  env: Record<string, string>;
}

export interface RealEngine {
  /** Context length of the tiny model. */
  context?: number;
  /** The installed version, such as `0.28.0`; installs the engine if needed. */
  readonly version: string;
  /** Files of test/engines/, in order. */
  tests: string[];
  /** The command that prints all its flags. */
  help: string[];
  /** Names of its parsers, from its sources. */
  parsers?(): Record<'tools' | 'reasoning', Set<string>>;
  /** Installs the program for a kind; returns the folder for PATH. */
  install(kind?: ServedKind): string;
  tinyModel(kind: ServedKind): TinyModel;
  /** A folder with LoRA adapters for its language model: `one`, `two`, and `wide` of rank 32. */
  adapters?(): string;
  /** Matches the number of running requests in its metrics; absent: not reported. */
  running?: RegExp;
  /** Whether it embeds conversations, and answers with bytes. */
  hasMoreEmbeddings?: true;
  /** Whether it scores pairs of texts; if not, the endpoint ranks them through it. */
  hasScores?: true;
  /** The same for waiting requests; absent: it does not support priorities. */
  waiting?: RegExp;
  /** First prompt of each of its language models: a fresh worker of vLLM 0.32 on a CPU can die at a shorter one. */
  firstPrompt?: string;
  /** Matches the worker processes; absent: it has only one process. */
  worker?: RegExp;
}

/** Models so small are slower with several threads. */
const CPU_MEDIA_ENV = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' };

const VLLM_PACKAGE = 'lib/python3.11/site-packages/vllm';
const VLLM: PythonEngine = {
  name: 'vllm',
  python: '3.11',
  gigabytes: 10,
  // The wheel for CPUs has another name, and vLLM chooses its platform by its own version.
  aliases: [{ name: 'vllm', version: '0.28.0+cpu' }],
};

/** Its help lists only one kind of parsers. */
function readParsers(folder: string): Set<string> {
  const source = readFileSync(join(ensurePythonEngine(VLLM), VLLM_PACKAGE, folder, '__init__.py'), 'utf8');
  return new Set([...source.matchAll(/^ {4}"([\w-]+)": \(/gm)].map(([, parser]) => parser!));
}

const VLLM_CONTEXT = 8192;
/** The preset uses the image of vLLM-Omni for these, which is the same engine with libraries that decode audio. */
const isAboutSound = (kind: ServedKind | undefined): boolean => kind === 'Transcription';

const vllm: RealEngine = {
  context: VLLM_CONTEXT,
  version: '0.28.0',
  tests: [
    'flags',
    'text',
    'routes',
    'failures',
    'continued-streams',
    'adapters',
    'health',
    'embeddings',
    'rerank',
    'transcription',
    'sdks',
    'recording',
  ],
  help: ['vllm', 'serve', '--help=all'],
  parsers: () => ({ tools: readParsers('tool_parsers'), reasoning: readParsers('reasoning') }),
  install: (kind) => join(ensurePythonEngine(isAboutSound(kind) ? OMNI : VLLM), 'bin'),
  tinyModel: (kind) => ({
    folder: isAboutSound(kind)
      ? ensureModel(ensurePythonEngine(OMNI), 'whisper')
      : ensureModel(ensurePythonEngine(VLLM), 'chat'),
    path: '',
    args: [
      ...(isAboutSound(kind) ? [] : [`--max-model-len=${VLLM_CONTEXT}`]),
      '--max-num-seqs=8',
      '--enforce-eager',
    ],
    env: { VLLM_CPU_KVCACHE_SPACE: '1', HF_HUB_OFFLINE: '1' },
  }),
  adapters: () => ensureModel(ensurePythonEngine(VLLM), 'adapters'),
  running: /^vllm:num_requests_running\{[^}]*\} ([\d.]+)/m,
  hasMoreEmbeddings: true,
  hasScores: true,
  waiting: /^vllm:num_requests_waiting\{[^}]*\} ([\d.]+)/m,
  firstPrompt: 'no test has this prompt in the cache of the engine '.repeat(20),
  worker: /EngineCore/,
};

/** Context of the tiny model. */
const LLAMA_CONTEXT = 2048;
const LLAMA_PLACES = 8;

const llamaCpp: RealEngine = {
  context: LLAMA_CONTEXT,
  get version() {
    return readLlamaVersion(ensureLlamaServer());
  },
  tests: [
    'flags',
    'text',
    'routes',
    'failures',
    'continued-streams',
    'health',
    'embeddings',
    'rerank',
    'sdks',
    'recording',
  ],
  help: ['llama-server', '--help'],
  install: ensureLlamaServer,
  tinyModel: (kind) => ({
    folder: ensureFolder({
      name: 'tiny-gguf',
      madeFrom: formatTinyModel().toString('base64'),
      make: (folder) => writeFileSync(join(folder, 'tiny.gguf'), formatTinyModel()),
    }),
    path: 'tiny.gguf',
    // As many slots as the tests use, each with the whole context.
    args: [
      ...['--parallel', String(LLAMA_PLACES), '--ctx-size', String(LLAMA_PLACES * LLAMA_CONTEXT)],
      ...(kind === 'Embedding' ? ['--pooling', 'mean'] : []),
    ],
    env: {},
  }),
  running: /^llamacpp:requests_processing ([\d.]+)/m,
};

const OMNI: PythonEngine = {
  ...VLLM,
  name: 'vllm-omni',
  plugIn: {
    modules: ['omni_cpu.py', 'omni_cpu_attention.py'],
    entryPoints: '[vllm_omni.platform_plugins]\ncpu = omni_cpu:register\n',
  },
};

const vllmOmni: RealEngine = {
  version: '0.28.0',
  tests: ['flags', 'images', 'videos', 'sdks'],
  help: ['vllm', 'serve', '--omni', '--help=all'],
  install: () => join(ensurePythonEngine(OMNI), 'bin'),
  tinyModel: (kind) => ({
    folder: ensureModel(ensurePythonEngine(OMNI), kind === 'Video' ? 'wan' : 'flux'),
    path: '',
    args: [],
    env: CPU_MEDIA_ENV,
  }),
  worker: /DiffusionWorker|EngineCore|StageDiffusion/,
};

const SGLANG: PythonEngine = { name: 'sglang', python: '3.11', gigabytes: 10 };
const SGLANG_VERSION = '0.5.18';
/** From these names it detects a model's family. */
const SGLANG_FOLDERS: Partial<Record<ServedKind, string>> = { Image: 'flux.2-klein', Video: 'wan2.1' };

const sglangDiffusion: RealEngine = {
  version: SGLANG_VERSION,
  tests: ['flags', 'images', 'videos', 'sdks'],
  help: ['sglang', 'serve', '--model-type=diffusion', '--help'],
  install: () => join(ensurePythonEngine(SGLANG), 'bin'),
  tinyModel: (kind) => ({
    folder: ensureModel(ensurePythonEngine(SGLANG), kind === 'Video' ? 'wan' : 'flux', SGLANG_FOLDERS[kind]),
    path: SGLANG_FOLDERS[kind] ?? '',
    args: [],
    env: CPU_MEDIA_ENV,
  }),
  worker: /sgl_diffusion/,
};

const SGLANG_PACKAGE = 'lib/python3.11/site-packages/sglang/srt';
const SGLANG_PARSERS = {
  tools: 'function_call/function_call_parser.py',
  reasoning: 'parser/reasoning_parser.py',
};

/** Model names that it lists with parsers. */
function readDetectors(file: string): Set<string> {
  const source = readFileSync(join(ensurePythonEngine(SGLANG), SGLANG_PACKAGE, file), 'utf8');
  return new Set(['auto', ...[...source.matchAll(/^ {8}"([\w.-]+)": \w+,/gm)].map(([, parser]) => parser!)]);
}

/** Its text models need kernels for GPUs, so that only its help is tested. */
const sglang: RealEngine = {
  version: SGLANG_VERSION,
  tests: ['flags'],
  help: ['python3', '-m', 'sglang.launch_server', '--help'],
  parsers: () => ({
    tools: readDetectors(SGLANG_PARSERS.tools),
    reasoning: readDetectors(SGLANG_PARSERS.reasoning),
  }),
  install: () => join(ensurePythonEngine(SGLANG), 'bin'),
  tinyModel: () => {
    throw new Error('sglang serves text on a GPU only');
  },
};

export const REAL_ENGINES: Record<EngineName, RealEngine> = {
  vllm,
  'llama-cpp': llamaCpp,
  'vllm-omni': vllmOmni,
  'sglang-diffusion': sglangDiffusion,
  sglang,
};

/** The engine that this run is for: `ENGINE=vllm mocha test/engines/text.test.ts`. */
export function readEngine(): { name: EngineName; engine: RealEngine } {
  const [name] = parseNames(process.env.ENGINE ?? 'vllm');
  return { name: name!, engine: REAL_ENGINES[name!] };
}

/** Comma-separated names. Throws an error that lists the valid ones. */
export function parseNames(text: string): EngineName[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !(name in REAL_ENGINES));
  if (unknown.length > 0)
    throw new Error(`no engine ${unknown.join(', ')}; there are ${ENGINE_NAMES.join(', ')}`);
  return names as EngineName[];
}
