/**
 * Checks what imports what (docs/architecture.md): imports point one way between the layers, neither the folders
 * of a layer nor files form a cycle, and tests outside `make test-cluster` reach nothing that builds programs with Go (decision 0360). Types count as
 * well: to read one file, one needs the others that it names. What runs imports packages that `npm ci --omit=dev` installs.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PRODUCT: Record<string, string[]> = {
  api: [],
  kit: ['api'],
  kube: ['kit'],
  redis: ['api', 'kit'],
  operator: ['api', 'kit', 'kube', 'redis'],
  gateway: ['api', 'kit', 'redis'],
  weights: ['api', 'kit'],
  'console/server': [
    'api',
    'kit',
    'kube',
    'redis',
    'console/api.ts',
    'console/bodies.ts',
    'console/routes.ts',
  ],
  // Without the schemas of bodies, of which it needs the types alone.
  'console/web': ['api', 'console/api.ts', 'console/routes.ts', 'examples/webhooks'],
  'console/api.ts': ['api'],
  'console/bodies.ts': ['api'],
  'console/routes.ts': ['console/api.ts', 'console/bodies.ts'],
  // Its image holds nothing but itself.
  simulator: [],
};
const PROGRAMS = Object.keys(PRODUCT);

/** Each layer, and the layers that it may import. The first that is a prefix of a file's path is its layer. */
const LAYERS: Record<string, string[]> = {
  ...PRODUCT,
  'bundle-program.ts': [],
  // Programs for others, which the console shows.
  'examples/webhooks': [],
  'build.ts': ['bundle-program.ts'],
  machine: [],
  cluster: ['machine'],
  launch: [...PROGRAMS, 'machine', 'cluster'],
  cli: [...PROGRAMS, 'machine', 'launch'],
  'pack-cli.ts': ['api', 'bundle-program.ts', 'cli'],
  'docs/.vitepress/slugify.ts': [],
  tools: [
    ...PROGRAMS,
    'bundle-program.ts',
    'cli',
    'machine',
    'cluster',
    'launch',
    'docs/.vitepress/slugify.ts',
  ],
  test: [...PROGRAMS, 'bundle-program.ts', 'pack-cli.ts', 'cli', 'machine', 'cluster', 'launch', 'tools'],
};

interface Import {
  from: string;
  to: string;
  /** Nothing is loaded. */
  isType?: true;
}

/** Statements and calls, with the word `type` where nothing but types is imported. TypeScript 7 has no parser for tools (decision 0141). */
const IMPORT = /(?:\b(?:import|export) (type )?[^'";()]*?)?\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

const listSources = (): string[] =>
  globSync(
    '{*.ts,{api,kit,kube,redis,operator,gateway,weights,console,simulator,machine,cluster,launch,cli,tools,test}/**/*.{ts,tsx}}',
    {
      exclude: (path) => /node_modules|(^|\/)dist(\/|$)/.test(path),
    },
  );

export function listImports(): Import[] {
  return listSources().flatMap((from) =>
    [...readFileSync(from, 'utf8').matchAll(IMPORT)].map(([, type, path]) => ({
      from,
      to: join(dirname(from), path!),
      ...(type && { isType: true as const }),
    })),
  );
}

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layerOf = (path: string): string | undefined => Object.keys(LAYERS).find((layer) => isIn(path, layer));

/** Imports against the direction of the layers. */
export function findWrongDirections(imports: Import[]): string[] {
  return imports
    .filter(({ from, to }) => {
      const [own, other] = [layerOf(from), layerOf(to)];
      return own === undefined || (own !== other && !LAYERS[own]!.includes(other ?? ''));
    })
    .map(({ from, to }) => `${from} imports ${to}, which is against the direction of imports`);
}

/** Cycles of anything but tests, each as the imports that close it: between folders, or between whatever `placeOf` names. */
export function findCycles(imports: Import[], placeOf: (file: string) => string = dirname): string[] {
  const edges = new Map<string, Map<string, Import>>();
  for (const each of imports) {
    const [from, to] = [placeOf(each.from), placeOf(each.to)];
    if (from === to || isIn(from, 'test')) continue;
    if (!edges.has(from)) edges.set(from, new Map());
    edges.get(from)!.set(to, each);
  }
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (place: string, path: string[]): void => {
    const start = path.indexOf(place);
    if (start >= 0) {
      const round = [...path.slice(start), place];
      const steps = round.slice(1).map((to, index) => edges.get(round[index]!)!.get(to)!);
      cycles.push(
        `${round.join(' → ')}:${steps.map(({ from, to }) => `\n    ${from} imports ${to}`).join('')}`,
      );
      return;
    }
    if (done.has(place)) return;
    for (const next of edges.get(place)?.keys() ?? []) visit(next, [...path, place]);
    done.add(place);
  };
  for (const place of edges.keys()) visit(place, []);
  return cycles;
}

/** Rings of files that import each other. */
export const findRings = (imports: Import[]): string[] => findCycles(imports, (file) => file);

const BUILDS_WITH_GO = 'cluster/binaries.ts';
/** The tests of `make test-cluster`, `make test-scaling-cluster` and `make test-kueue`. */
const CLUSTER_TESTS = ['integration-cluster', 'chart', 'kind', 'e2e', 'scaling-cluster', 'kueue'].map(
  (name) => `test/${name}`,
);

/** Other tests that come to what builds programs with Go, each as the imports that lead there. */
export function findGoPrograms(imports: Import[]): string[] {
  const importers = Map.groupBy(
    imports.filter(({ isType }) => !isType),
    ({ to }) => to,
  );
  const chains = new Map([[BUILDS_WITH_GO, [BUILDS_WITH_GO]]]);
  // The map grows meanwhile: shortest chains first.
  for (const [file, chain] of chains)
    for (const { from } of importers.get(file) ?? [])
      if (!chains.has(from)) chains.set(from, [from, ...chain]);
  return [...chains]
    .filter(([file]) => file.endsWith('.test.ts') && !CLUSTER_TESTS.some((folder) => isIn(file, folder)))
    .map(([, chain]) => `${chain.join(' → ')}: a test that needs Go belongs in test/integration-cluster/`);
}

/** Bundled or built before anything runs: the page and what bundles it, which need Vite and React at build time alone. */
const BUILT = ['console/web', 'build.ts', 'bundle-program.ts', 'pack-cli.ts', 'docs', 'tools', 'test'];
/** Statements from the first column, and calls; not of types alone. */
const PACKAGE_IMPORT =
  /(?:^(?:import|export) (?!type\b)[^'";()=]*?\bfrom|^import|\b(?:import|require)\()\s*'((?:@[\w.-]+\/)?\w[\w.-]*)(?:\/[^']*)?'/gm;

export interface PackageImport {
  from: string;
  name: string;
}

/** Packages that the programs and commands load; Node's own modules are none. */
export const listPackageImports = (): PackageImport[] =>
  listSources()
    .filter((from) => !BUILT.some((place) => isIn(from, place)))
    .flatMap((from) =>
      [...readFileSync(from, 'utf8').matchAll(PACKAGE_IMPORT)].map(([, name]) => ({ from, name: name! })),
    );

/** Imports of packages that are not among the dependencies of `npm ci --omit=dev`: the simulator has its own. */
export function findDevPackages(
  imports: PackageImport[],
  readDependencies: (manifest: string) => string[],
): string[] {
  const [own, ofSimulator] = ['package.json', 'simulator/package.json'].map(readDependencies);
  return imports
    .filter(({ from, name }) => !(isIn(from, 'simulator') ? ofSimulator! : own!).includes(name))
    .map(
      ({ from, name }) => `${from} imports ${name}, which is not in the "dependencies" of its package.json`,
    );
}

export const readDependencies = (manifest: string): string[] =>
  Object.keys(JSON.parse(readFileSync(manifest, 'utf8')).dependencies);

if (import.meta.main) {
  const imports = listImports();
  const problems = [
    ...[findWrongDirections, findCycles, findRings, findGoPrograms].flatMap((find) => find(imports)),
    ...findDevPackages(listPackageImports(), readDependencies),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
