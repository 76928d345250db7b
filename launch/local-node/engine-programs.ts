/** Which program of this machine stands for a container's image. */
import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
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
  /** What the image starts where a container names no command. */
  command?: string;
  install: string;
}

const ENGINES: readonly KnownEngine[] = [
  {
    image: /llama\.cpp/,
    command: 'llama-server',
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

/** It ends, so it has a process of its own. */
const LOADER = { container: 'weights/main.js', file: join(import.meta.dirname, '../../weights/main.ts') };

export interface Machine {
  /** Of where its programs are. */
  path: string;
  /** Of the container. */
  env: Readonly<Record<string, string>>;
}

/** `args` with what stands for paths, addresses and variables already in them. */
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
  const found = findOnPath(name, path);
  if (!found)
    return missing(`${name} is not on this machine${engine ? `; install it with: ${engine.install}` : ''}`);
  // A preset's shell is called as what it starts.
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
/** Looks for the package without importing it, which takes an engine many seconds. */
const FIND_MODULE = `import sys, importlib.util as u; sys.exit(0 if u.find_spec(sys.argv[1]) else ${NO_MODULE_CODE})`;
const FIND_TIMEOUT_MS = 10_000;

/** True also where that cannot be found out: the program itself then says why. */
function hasModule(python: string, module: string, env: Machine['env']): Promise<boolean> {
  const options = { env: { ...process.env, ...env }, timeout: FIND_TIMEOUT_MS };
  return new Promise((resolve) => {
    execFile(python, ['-c', FIND_MODULE, packageOf(module)], options, (error) =>
      resolve(error?.code !== NO_MODULE_CODE),
    );
  });
}

/** The file that a shell would run; undefined where there is none. */
function findOnPath(name: string, path: string): string | undefined {
  const candidates = name.includes('/')
    ? [name]
    : path.split(delimiter).map((folder) => join(folder || '.', name));
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}

export interface Translation {
  /** Folder of this machine by a mount's path in the container. */
  paths: ReadonlyMap<string, string>;
  /** The address that stands for the pod's loopback. */
  ip: string;
  port: (containerPort: number) => number;
  /** Ports that the containers of the pod listen on. */
  ports: readonly number[];
}

const LOOPBACK = '127.0.0.1';

/** A word of a command line, or a variable's value, with the machine's paths, address and ports in it. */
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

/** With another port it is a service of the machine's, such as Redis. */
const OWN_ADDRESS = /(^|\/\/)127\.0\.0\.1:(\d+)(?=\/|$)/g;

/** A command line: also flags whose port is the next word. */
export function translateArgs(args: readonly string[], translation: Translation): string[] {
  const kept = args.filter((word) => !IMAGE_FILE.test(word));
  return kept.map((word, index) =>
    /^--?port$/.test(kept[index - 1] ?? '') && translation.ports.includes(Number(word))
      ? String(translation.port(Number(word)))
      : translate(word, translation),
  );
}

/**
 * Chat templates for tools of the images of vLLM and SGLang, which their Python packages lack: with them they would not start. The
 * prompts of rerankers stay: better an engine that says that one is missing than one that ranks badly.
 */
const IMAGE_FILE =
  /^--chat-template=\/(vllm-workspace|app\/vllm|sgl-workspace\/sglang)\/examples\/(.*\/)?tool_chat_template_/;

/** Variables; those whose name says port are ports. */
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
