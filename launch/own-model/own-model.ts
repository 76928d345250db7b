/** `make run MODEL=…`: finds or downloads the model, and describes the deployment that serves it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { KubeObject } from '../../kube/object.ts';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import { findLlamaServer } from '../../machine/llama-server.ts';
import { findProgram } from '../../machine/system-package.ts';
import { listVariants, type Variant } from './gguf-variants.ts';
import { fetchHubModel, type HubOptions } from './hub-model.ts';
import { describeShortage, readMemory } from './model-memory.ts';
import { ALLOWED_MODELS, type PathKind, readModelReference } from './model-reference.ts';
import { deriveId, describeOwnModel, linkWeights, type OwnPlace, type OwnWeights } from './own-deployment.ts';

export type OwnModelOptions = OwnPlace & Pick<HubOptions, 'hub' | 'token'>;

const MODELS_FOLDER = join(CACHE_FOLDER, 'models');
const MAGIC = 'GGUF';

/** Throws with what is wrong, and what to do. */
export async function prepareOwnModel(given: string, options: OwnModelOptions): Promise<KubeObject> {
  const weights = await findWeights(given, options);
  linkWeights(weights, options);
  return describeOwnModel(weights, options);
}

async function findWeights(given: string, { hub, token }: OwnModelOptions): Promise<OwnWeights> {
  const reference = readModelReference(given, kindOf);
  if (reference.kind === 'folder') return readFolder(reference.path, given);
  if (reference.kind === 'file') {
    const paths = readFile(reference.path, given);
    await fetchLlamaServer();
    const id = deriveId(basename(paths[0]!).replace(/(-00001-of-\d{5})?\.gguf$/i, ''));
    return { preset: 'llama-cpp', id, paths };
  }
  // Before the download, which may take long.
  await fetchLlamaServer();
  const { repository, variant } = reference;
  const paths = await fetchHubModel(repository, variant, {
    hub,
    token,
    folder: MODELS_FOLDER,
    log: (line) => console.error(line),
    onChoice: ({ bytes }, all) => warnOfShortage(bytes, all),
  });
  return { preset: 'llama-cpp', id: deriveId(repository), paths };
}

const FETCHER = join(import.meta.dirname, '../../machine/llama-server.ts');

/** Once, by a process of its own: to unpack it, or to wait for another that does, blocks, and Ctrl-C has to end it. */
async function fetchLlamaServer(): Promise<void> {
  if (findLlamaServer()) return;
  const fetcher = spawn(process.execPath, [FETCHER], { stdio: ['ignore', 'inherit', 'inherit'] });
  const stop = () => fetcher.kill();
  process.once('exit', stop);
  const [code] = await once(fetcher, 'exit');
  process.removeListener('exit', stop);
  if (code !== 0) throw new Error('MODEL is not served without llama-server');
}

function warnOfShortage(bytes: number, others?: readonly Variant[]): void {
  const warning = describeShortage(bytes, readMemory(), others);
  if (warning) console.error(warning);
}

function kindOf(path: string): PathKind {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && (found.isDirectory() ? 'folder' : 'file');
}

/** The file, or all parts of a split model. */
function readFile(path: string, given: string): string[] {
  if (path.endsWith('.safetensors'))
    throw new Error(`MODEL=${given}: give the folder that it is in: MODEL=${dirname(given)}`);
  const folder = dirname(path);
  const paths = /-\d{5}-of-\d{5}\.gguf$/i.test(path) ? listParts(path, given) : [path];
  for (const each of paths)
    if (readStart(each) !== MAGIC)
      throw new Error(
        `MODEL=${given} is not a GGUF file: ${basename(each)} in ${folder} does not begin with ${MAGIC}. ` +
          `It may be an incomplete download, a page of a website, or a pointer of Git LFS (git lfs pull)\n${ALLOWED_MODELS}`,
      );
  const bytes = paths.reduce((sum, each) => sum + statSync(each).size, 0);
  warnOfShortage(bytes);
  return paths;
}

function listParts(path: string, given: string): string[] {
  const folder = dirname(path);
  const files = readdirSync(folder).map((name) => ({ path: name, size: 0 }));
  const whole = listVariants(files).find((variant) =>
    variant.files.some((file) => file.path === basename(path)),
  );
  if (!whole) throw new Error(`MODEL=${given}: other parts of this split model are missing in ${folder}`);
  return whole.files.map((file) => join(folder, file.path));
}

function readStart(path: string): string {
  const bytes = Buffer.alloc(MAGIC.length);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes);
  } finally {
    closeSync(file);
  }
  return bytes.toString('latin1');
}

function readFolder(path: string, given: string): OwnWeights {
  const names = readdirSync(path);
  const isComplete =
    existsSync(join(path, 'config.json')) && names.some((name) => name.endsWith('.safetensors'));
  if (!isComplete) {
    const files = names.filter((name) => name.endsWith('.gguf'));
    const hint =
      files.length > 0
        ? `It has GGUF files; name one:\n${files.map((name) => `  MODEL=${join(given, name)}`).join('\n')}`
        : ALLOWED_MODELS;
    throw new Error(`MODEL=${given}: this folder has no config.json with .safetensors files. ${hint}`);
  }
  if (!findProgram('vllm'))
    throw new Error(
      `MODEL=${given} is a folder of safetensors, which vllm serves, and vllm is not on PATH: install it ` +
        '(pip install vllm, in a virtual environment that is active when make run starts), or use a GGUF file of the model',
    );
  return { preset: 'vllm', id: deriveId(basename(path)), paths: [path] };
}
