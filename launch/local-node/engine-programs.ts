/** Which program of this machine replaces a container's image. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { findFetchedLlamaServer } from '../../machine/llama-server.ts';
import { findOnPath } from '../../machine/system-package.ts';
import type { Container } from './pod-spec.ts';

/** The image of Berth's own programs in `make run`. */
export const LOCAL_IMAGE = 'berth.local/berth';

export type HostedProgram = 'gateway' | 'simulator';

export type Program =
  | { kind: 'hosted'; program: HostedProgram }
  | { kind: 'command'; command: string; args: string[] }
  | { kind: 'missing'; reason: string; message: string };

interface KnownEngine {
  image: RegExp;
  /** The image's entry point, if a container has no command. */
  command?: string;
  /** Where else it is than on PATH. */
  find?: () => string | undefined;
  install: string;
}

const ENGINES: readonly KnownEngine[] = [
  {
    image: /llama\.cpp/,
    command: 'llama-server',
    find: findFetchedLlamaServer,
    install:
      'brew install llama.cpp (or a build from https://github.com/ggml-org/llama.cpp/releases on PATH)',
  },
  { image: /vllm-omni/, install: 'pip install vllm vllm-omni' },
  { image: /vllm/, install: 'pip install vllm (in a virtual environment, active when make run starts)' },
  {
    image: /sglang/,
    install: 'pip install "sglang[all]" (in a virtual environment, active when make run starts)',
  },
  {
    image: /text-embeddings-inference/,
    command: 'text-embeddings-router',
    install:
      'cargo install --git https://github.com/huggingface/text-embeddings-inference text-embeddings-router',
  },
  { image: /rclone/, install: 'apt-get install rclone, or brew install rclone' },
];

const HOSTED: Readonly<Record<string, HostedProgram>> = {
  'gateway/main.js': 'gateway',
  'simulator/main.ts': 'simulator',
};

/** It runs to completion, so it has its own process. */
const LOADER = { container: 'weights/main.js', file: join(import.meta.dirname, '../../weights/main.ts') };

export interface Machine {
  /** For finding its programs. */
  path: string;
  /** Variables of the container. */
  env: Readonly<Record<string, string>>;
}

/** `args` with paths, addresses and variables already substituted. */
export async function resolveProgram(
  { image = '', command = [] }: Container,
  args: readonly string[],
  { path, env }: Machine,
): Promise<Program> {
  const hosted = image === LOCAL_IMAGE ? HOSTED[args[0] ?? ''] : undefined;
  if (hosted && command.length === 0) return { kind: 'hosted', program: hosted };
  if (image === LOCAL_IMAGE && args[0] === LOADER.container)
    return { kind: 'command', command: process.execPath, args: [LOADER.file] };
  const engine = ENGINES.find((known) => known.image.test(image));
  const [name = engine?.command, ...own] = command;
  if (name === undefined)
    return missing(
      `image ${image}: make run starts programs of this machine: name one in spec.engine.command`,
    );
  const found = findOnPath(name, path) ?? (command.length === 0 ? engine?.find?.() : undefined);
  if (!found)
    return missing(`${name} is not on this machine${engine ? `; install it with: ${engine.install}` : ''}`);
  // A preset's shell script is named after what it starts.
  const wanted = ['bash', 'sh'].includes(name) ? (own[2] ?? '') : '';
  if (engine && ['sglang', 'vllm'].includes(wanted) && !findOnPath(wanted, path))
    return missing(`${wanted} is not on this machine; install it with: ${engine.install}`);
  const module = /^python3?$/.test(name) && own[0] === '-m' ? own[1] : undefined;
  if (engine && module && !(await hasModule(found, module, env)))
    return missing(
      `${name} on this machine has no module ${packageOf(module)}; install it with: ${engine.install}`,
    );
  return { kind: 'command', command: found, args: [...own, ...args] };
}

const missing = (message: string): Program => ({ kind: 'missing', reason: 'EngineNotInstalled', message });

const packageOf = (module: string): string => module.split('.')[0]!;

const NO_MODULE_CODE = 44;
/** Finds the package without importing it, which takes many seconds for an engine. */
const FIND_MODULE = `import sys, importlib.util as u; sys.exit(0 if u.find_spec(sys.argv[1]) else ${NO_MODULE_CODE})`;
const FIND_TIMEOUT_MS = 10_000;

/** Also true if that cannot be determined: the program itself then reports the reason. */
function hasModule(python: string, module: string, env: Machine['env']): Promise<boolean> {
  const options = { env: { ...process.env, ...env }, timeout: FIND_TIMEOUT_MS };
  return new Promise((resolve) => {
    execFile(python, ['-c', FIND_MODULE, packageOf(module)], options, (error) =>
      resolve(error?.code !== NO_MODULE_CODE),
    );
  });
}

export interface Translation {
  /** Folder of this machine by a mount's path in the container. */
  paths: ReadonlyMap<string, string>;
  /** The address that replaces the pod's loopback. */
  ip: string;
  port: (containerPort: number) => number;
  /** Ports that the containers of the pod listen on. */
  ports: readonly number[];
}

const LOOPBACK = '127.0.0.1';

/** Substitutes the machine's paths, address and ports in a command-line word or variable. */
export function translate(text: string, { paths, ip, port, ports }: Translation): string {
  const [, flag = '', value = ''] = /^(--?[\w-]+=)?(.*)$/s.exec(text) ?? [];
  if (value === LOOPBACK) return flag + ip;
  const own = ports.find((one) => value === String(one));
  if (own !== undefined && /port/i.test(flag)) return flag + port(own);
  for (const [mount, folder] of paths)
    if (value === mount || value.startsWith(`${mount}/`)) return flag + folder + value.slice(mount.length);
  return (
    flag +
    value.replace(OWN_ADDRESS, (whole, before: string, given: string) =>
      ports.includes(Number(given)) ? `${before}${ip}:${port(Number(given))}` : whole,
    )
  );
}

/** With another port it is a service of the machine, such as Redis. */
const OWN_ADDRESS = /(^|\/\/)127\.0\.0\.1:(\d+)(?=\/|$)/g;

/** A command line: also flags whose port is the next word. */
export function translateArgs(args: readonly string[], translation: Translation): string[] {
  const kept = args.filter((word) => !IMAGE_FILE.test(word)).map(useOwnPrompt);
  return kept.map((word, index) =>
    /^--?port$/.test(kept[index - 1] ?? '') && translation.ports.includes(Number(word))
      ? String(translation.port(Number(word)))
      : translate(word, translation),
  );
}

/**
 * Chat templates for tools from the images of vLLM and SGLang, which their Python packages lack: engines would not start with these flags. The
 * prompts of rerankers stay, Qwen3's as a file of this checkout: an engine that reports a missing one is better than one that ranks badly.
 */
const IMAGE_FILE =
  /^--chat-template=\/(vllm-workspace|app\/vllm|sgl-workspace\/sglang)\/examples\/(.*\/)?tool_chat_template_/;

const OWN_PROMPT =
  /^(--chat-template=)\/(?:vllm-workspace|app\/vllm)\/examples\/pooling\/score\/template\/(qwen3_reranker\.jinja)$/;
const PROMPTS = join(import.meta.dirname, 'score-templates');

const useOwnPrompt = (word: string): string =>
  word.replace(OWN_PROMPT, (_, flag: string, file: string) => flag + join(PROMPTS, file));

/** Variables; those named as ports are ports. */
export const translateEnv = (
  env: Readonly<Record<string, string>>,
  translation: Translation,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      /PORT$/.test(name) && translation.ports.includes(Number(value))
        ? String(translation.port(Number(value)))
        : translate(value, translation),
    ]),
  );
