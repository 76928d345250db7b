/** What MODEL of `make run` names. Pure, apart from the look at a path. */
import { homedir } from 'node:os';
import { resolve } from 'node:path';

export type ModelReference =
  | { kind: 'file'; path: string }
  | { kind: 'folder'; path: string }
  | { kind: 'repository'; repository: string; variant: string | undefined };

export type PathKind = 'file' | 'folder' | undefined;

export const ALLOWED_MODELS = [
  'MODEL may be:',
  '  the path of a .gguf file:              MODEL=./model.gguf',
  '  the path of a folder of safetensors:   MODEL=./Qwen3-0.6B (with vllm on PATH)',
  '  GGUF files of the Hugging Face hub:    MODEL=ggml-org/Qwen3-0.6B-GGUF:Q8_0',
].join('\n');

const HUB_ADDRESS = /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\//;
/** The page of a repository, or of a file in it. */
const HUB_PAGE = /^([^/]+\/[^/]+)\/(?:tree|blob|resolve)\/[^/?]+\/?([^?]*)/;
const REPOSITORY = /^([\w-][\w.-]*\/[\w-][\w.-]*)(?::(.+))?$/;

/** A path that exists comes before a repository of the same name. Throws with what is allowed. */
export function readModelReference(given: string, kindOf: (path: string) => PathKind): ModelReference {
  const path = resolve(given.replace(/^~(?=\/|$)/, homedir()));
  const kind = kindOf(path);
  if (kind) return { kind, path };
  const isAddress = HUB_ADDRESS.test(given);
  if (!isAddress && isPath(given))
    throw new Error(`MODEL=${given}: there is no such file or folder (${path})\n${ALLOWED_MODELS}`);
  const reference = readRepository(given.replace(HUB_ADDRESS, ''));
  if (reference) return reference;
  throw new Error(
    `MODEL=${given} is neither a path that exists nor a repository (owner/repo:quant)\n${ALLOWED_MODELS}`,
  );
}

const isPath = (given: string): boolean =>
  /^[./~]/.test(given) || (/\.(gguf|safetensors)$/i.test(given) && !given.includes(':'));

function readRepository(given: string): ModelReference | undefined {
  const [, ofPage, file] = HUB_PAGE.exec(given) ?? [];
  const plain = ofPage ? `${ofPage}${/\.gguf$/i.test(file!) ? `:${file}` : ''}` : given;
  const [, repository, variant] = REPOSITORY.exec(plain.replace(/\/$/, '')) ?? [];
  return repository ? { kind: 'repository', repository, variant } : undefined;
}
