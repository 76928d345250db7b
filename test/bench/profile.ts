/**
 * Where the sidecar's CPU goes under the load of 64 connections: the functions with most time of their own, and the packages.
 * Part of `make bench` (ONLY=profile); alone, and in older checkouts that it and `test/support/inspector.ts` are copied to, `node test/bench/profile.ts`.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Inspector } from '../support/inspector.ts';
import { compileGatewayBench, ensureBenchPrograms } from './compile.ts';
import { loadRequests } from './loads.ts';
import { refuseTakenPorts, stopAllPinned, stopPinned } from './pinned-process.ts';
import { startBenchRedis, withRedis } from './redis.ts';
import { startEngine, startSystem } from './started-system.ts';
import { listSystems, PORTS, publishBench, type System } from './systems.ts';

const INSPECTOR_PORT = 19_229;
const CONNECTIONS = 64;
const WARMING_SECONDS = 10;
const PROFILED_SECONDS = Number(process.env.SECONDS ?? 15);
const SHOWN = 20;
/** V8's name for idle time. */
const IDLE = '(idle)';
const NATIVE = 'V8 and system calls';

interface CPUProfile {
  nodes: { id: number; callFrame: CallFrame }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

interface CallFrame {
  functionName: string;
  url: string;
  /** From 0. */
  lineNumber: number;
}

/** A function or a package, with its own microseconds. */
interface Share {
  name: string;
  micros: number;
}

export interface ProfileFigures {
  functions: Share[];
  packages: Share[];
  requests: number;
}

/** The gateway is compiled, and Redis has what publishBench writes. */
export async function measureProfile(): Promise<ProfileFigures> {
  await refuseTakenPorts([INSPECTOR_PORT]);
  const engine = await startEngine();
  try {
    const { target, stop } = await startSystem(inspectable('berth'));
    try {
      await loadRequests(target, CONNECTIONS, WARMING_SECONDS);
      const inspector = await Inspector.connect(await findInspector());
      await inspector.call('Profiler.enable');
      await inspector.call('Profiler.start');
      const { requests } = await loadRequests(target, CONNECTIONS, PROFILED_SECONDS);
      const { profile } = await inspector.call<{ profile: CPUProfile }>('Profiler.stop');
      inspector.close();
      return { ...summarizeProfile(profile), requests };
    } finally {
      await stop();
    }
  } finally {
    await stopPinned(engine);
  }
}

function inspectable(name: string): System {
  const system = listSystems().find((each) => each.name === name)!;
  return {
    ...system,
    buildCommand: () => {
      const command = system.buildCommand!();
      return { ...command, args: [`--inspect=127.0.0.1:${INSPECTOR_PORT}`, ...command.args] };
    },
  };
}

/** Where the inspector of the program on its port listens. */
async function findInspector(): Promise<string> {
  const targets = await (await fetch(`http://127.0.0.1:${INSPECTOR_PORT}/json/list`)).json();
  return (targets as { webSocketDebuggerUrl: string }[])[0]!.webSocketDebuggerUrl;
}

/** Time by function and by package, descending, without idle time. */
function summarizeProfile({ nodes, samples, timeDeltas }: CPUProfile): Omit<ProfileFigures, 'requests'> {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const microsById = new Map<number, number>();
  for (const [index, id] of samples.entries())
    microsById.set(id, (microsById.get(id) ?? 0) + timeDeltas[index]!);
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  for (const [id, micros] of microsById) {
    const frame = frames.get(id)!;
    if (frame.functionName === IDLE) continue;
    const source = findSource(frame);
    add(functions, describeFunction(frame, source), micros);
    add(packages, findPackage(source), micros);
  }
  return { functions: sortShares(functions), packages: sortShares(packages) };
}

const add = (sums: Map<string, number>, name: string, micros: number): void =>
  void sums.set(name, (sums.get(name) ?? 0) + micros);

const sortShares = (sums: Map<string, number>): Share[] =>
  [...sums].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);

/** Anonymous functions are distinguished by their lines in the profiled file. */
function describeFunction({ functionName, lineNumber }: CallFrame, source: string): string {
  if (source === NATIVE) return `\`${functionName || '(anonymous)'}\``;
  const name = functionName ? `\`${functionName}\`` : `line ${lineNumber + 1}`;
  return `${name}, ${source.replace(/^.*node_modules\//, '')}`;
}

/** Its module, as named in a bundle; NATIVE without a source. */
function findSource({ url, lineNumber }: CallFrame): string {
  if (!url.startsWith('file:')) return url || NATIVE;
  const path = fileURLToPath(url);
  const module = readModules(path).findLast(({ line }) => line <= lineNumber);
  return (module?.name ?? relative(process.cwd(), path)).replace(/^dist\//, '');
}

interface BundledModule {
  name: string;
  line: number;
}
const MODULE_COMMENT = /^\/\/ ([\w@./-]+\.[cm]?[jt]s)$/;
const modulesByPath = new Map<string, BundledModule[]>();

/** A bundle has a comment with its path before each module. */
function readModules(path: string): BundledModule[] {
  let modules = modulesByPath.get(path);
  if (!modules) {
    modules = [];
    for (const [line, text] of readFileSync(path, 'utf8').split('\n').entries()) {
      const name = MODULE_COMMENT.exec(text)?.[1];
      if (name) modules.push({ name, line });
    }
    modulesByPath.set(path, modules);
  }
  return modules;
}

/** The name of a dependency, or the folder of our own code. */
function findPackage(source: string): string {
  if (source === NATIVE) return NATIVE;
  if (source.startsWith('node:')) return 'Node';
  if (source.startsWith('wasm:')) return 'WebAssembly';
  const dependency = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
  return dependency ?? source.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** As Markdown for docs/measurements.md. */
export function formatProfile({ functions, packages, requests }: ProfileFigures): string {
  const total = packages.reduce((sum, { micros }) => sum + micros, 0);
  const format = (title: string, shares: Share[]): string =>
    [
      `| Share | µs/request | ${title} |`,
      '|---:|---:|---|',
      ...shares.map(
        ({ name, micros }) =>
          `| ${((100 * micros) / total).toFixed(1)} % | ${(micros / requests).toFixed(2)} | ${name} |`,
      ),
    ].join('\n');
  return [
    `${requests} requests, ${(total / requests).toFixed(1)} µs each`,
    format('Function', functions.slice(0, SHOWN)),
    format('Package', packages.slice(0, SHOWN)),
  ].join('\n\n');
}

async function profileAlone(): Promise<void> {
  ensureBenchPrograms();
  await refuseTakenPorts(Object.values(PORTS));
  await compileGatewayBench();
  await startBenchRedis();
  await withRedis(publishBench);
  console.log(formatProfile(await measureProfile()));
}

if (import.meta.main) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  await profileAlone().finally(stopAllPinned);
}
