/** The ModelDeployment that serves MODEL, with its weights as a claim: a folder of links to the files. */
import { lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import type { KubeObject } from '../../kube/object.ts';

/** Where it is served, and how. */
export interface OwnPlace {
  stateFolder: string;
  namespace: string;
  /** Flags of the engine. */
  args: readonly string[];
}

export interface OwnWeights {
  preset: 'llama-cpp' | 'vllm';
  /** What clients may send as `model`. */
  id: string;
  /** Files of a GGUF model, its first part first, or one folder. */
  paths: readonly string[];
}

const MAX_NAME = 45;
const MAX_ID = 200;

/** The name of a deployment by that of its model: one DNS label. */
export function deriveName(id: string): string {
  const label = basename(id)
    .replace(/[-._]gguf$/i, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  return (/^[a-z]/.test(label) ? label : `model-${label}`).slice(0, MAX_NAME).replace(/-$/, '');
}

/** `name` with the characters that an ID may have, and no more of them. */
export const deriveId = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._:/@-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MAX_ID) || 'model';

export function describeOwnModel(
  { preset, id, paths }: OwnWeights,
  { namespace, args }: OwnPlace,
): KubeObject {
  const name = deriveName(id);
  return {
    apiVersion: API_VERSION,
    kind: 'ModelDeployment',
    metadata: { name, namespace },
    spec: {
      kind: 'LLM',
      model: { id, source: { pvc: { claimName: name, path: linkName(paths[0]!, preset) } } },
      engine: { preset, ...(args.length > 0 && { args }) },
    },
  };
}

/** Puts links to the files where the node of `make run` has the claim. */
export function linkWeights({ preset, id, paths }: OwnWeights, { stateFolder, namespace }: OwnPlace): void {
  const claim = resolve(stateFolder, 'claims', namespace, deriveName(id));
  mkdirSync(claim, { recursive: true });
  for (const path of paths) {
    const link = join(claim, linkName(path, preset));
    const found = lstatSync(link, { throwIfNoEntry: false });
    if (found && !found.isSymbolicLink())
      throw new Error(`${link} is in the way: it is no link of make run; move it elsewhere`);
    rmSync(link, { force: true });
    symlinkSync(path, link);
  }
}

/** llama.cpp needs the extension in small letters, which the files of some programs lack: it finds parts of a model by it. */
const linkName = (path: string, preset: OwnWeights['preset']): string =>
  preset === 'llama-cpp' ? `${basename(path).replace(/\.gguf$/i, '')}.gguf` : basename(path);
