/** Provides programs for tests: the machine's own if suitable, else built from `go/`. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { findProgram } from '../machine/system-package.ts';
import { runCommand } from './commands.ts';

interface GoModule {
  /** Its folder in `go/`, if not named like the module. */
  folder?: string;
  /** The file for go.mod there: one program can be built with other versions of its dependencies. */
  modfile?: string;
  /** What the module builds; with several, one binary acts as the program it is called as. */
  programs: string[];
  /** The package to build; the module's own main.go by default. */
  package?: string;
  /** `-X` settings for the linker. */
  variables?: Record<string, string>;
  /** Build tags. */
  tags?: string[];
  /** Approximate minutes of a first build on two cores. */
  minutes: number;
  /** A program on PATH is used instead if this command's output matches. */
  accepts?: { args: string[]; output: RegExp };
}

export const KUBERNETES_VERSION = 'v1.37.2';
const VERSION_PACKAGE = 'k8s.io/component-base/version';

/** Without the snapshotters that no node uses. */
const containerdProgram = (name: string): GoModule => ({
  folder: 'containerd',
  programs: [name],
  package: `github.com/containerd/containerd/v2/cmd/${name}`,
  variables: { 'github.com/containerd/containerd/v2/version.Version': 'v2.4.2' },
  tags: ['no_btrfs', 'no_devmapper', 'no_zfs'],
  minutes: 2,
});

const MODULES: Record<string, GoModule> = {
  kubenode: {
    programs: [
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kube-proxy',
      'kubelet',
      'kubeadm',
      'kubectl',
    ],
    // Without a version Helm's checks of `kubeVersion` would see v0.0.0.
    variables: {
      [`${VERSION_PACKAGE}.gitVersion`]: KUBERNETES_VERSION,
      [`${VERSION_PACKAGE}.gitMajor`]: '1',
      [`${VERSION_PACKAGE}.gitMinor`]: '37',
      [`${VERSION_PACKAGE}.gitTreeState`]: 'clean',
    },
    minutes: 7,
  },
  addons: { programs: ['etcd', 'coredns'], minutes: 2 },
  traefik: {
    programs: ['traefik'],
    package: 'github.com/traefik/traefik/v3/cmd/traefik',
    minutes: 10,
    accepts: { args: ['version'], output: /Version:\s+3\./ },
  },
  kind: {
    programs: ['kind'],
    package: 'sigs.k8s.io/kind',
    minutes: 1,
    accepts: { args: ['version', '--quiet'], output: /^0\.(3[3-9]|[4-9]\d)\.\d+$/m },
  },
  containerd: containerdProgram('containerd'),
  'containerd-shim': containerdProgram('containerd-shim-runc-v2'),
  ctr: containerdProgram('ctr'),
  crictl: { programs: ['crictl'], package: 'sigs.k8s.io/cri-tools/cmd/crictl', minutes: 1 },
  deviceplugin: { programs: ['deviceplugin'], minutes: 1 },
  pause: { programs: ['pause'], minutes: 1 },
  helm: {
    programs: ['helm'],
    package: 'helm.sh/helm/v4/cmd/helm',
    minutes: 4,
    accepts: { args: ['version', '--short'], output: /^v4\./ },
  },
  'helm-unittest': {
    programs: ['helm-unittest'],
    package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
    minutes: 2,
  },
  kubeconform: {
    programs: ['kubeconform'],
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    minutes: 1,
    accepts: { args: ['-v'], output: /^v0\.[78]\./ },
  },
  'manifestcheck-oldest': {
    programs: ['manifestcheck-oldest'],
    folder: 'manifestcheck',
    modfile: 'oldest.mod',
    minutes: 2,
  },
  'manifestcheck-newest': { programs: ['manifestcheck-newest'], folder: 'manifestcheck', minutes: 2 },
  healthcheck: { programs: ['healthcheck'], minutes: 1 },
  kwok: { programs: ['kwok'], package: 'sigs.k8s.io/kwok/cmd/kwok', minutes: 3 },
  versitygw: {
    programs: ['versitygw'],
    package: 'github.com/versity/versitygw/cmd/versitygw',
    minutes: 3,
    accepts: { args: ['--version'], output: /v1\./i },
  },
  seaweedfs: { programs: ['weed'], package: 'github.com/seaweedfs/seaweedfs/weed', minutes: 8 },
};

/**
 * The path of an executable program, built first if it is neither on PATH nor in the cache.
 * Concurrent processes wait for one build. Throws with the compiler's output if a build fails.
 */
export async function ensureBinary(program: string): Promise<string> {
  const [name, module] = findBuilder(program);
  const own = findFitting(program, module);
  if (own) return own;

  const folder = join(CACHE_FOLDER, 'bin', `${name}-${hashModule(name)}`);
  const binary = join(folder, name);
  if (!existsSync(binary)) await build(name, module, binary);
  return linkProgram(folder, name, program);
}

/** Frees the gigabytes of Go's own cache, which only further builds would use: call it when all programs are built. */
export const clearGoCache = (): void => rmSync(GO_CACHE, { recursive: true, force: true });

/** Changes with anything that these programs are built from. */
export const hashPrograms = (programs: string[]): string =>
  programs.map((program) => hashModule(findBuilder(program)[0])).join('-');

/** The folder of a tool's own module in Go's cache; downloads it first. */
export async function findModule(program: string): Promise<string> {
  const [name, module] = findBuilder(program);
  const list = ['go', 'list', '-f', '{{.Module.Dir}}', module.package ?? '.'];
  return (await runCommand(list, { cwd: moduleFolder(name), env: GO_SETTINGS })).trim();
}

/** Whether `ensureBinary` would return at once. */
export function isBinaryReady(program: string): boolean {
  const [name, module] = findBuilder(program);
  const cached = join(CACHE_FOLDER, 'bin', `${name}-${hashModule(name)}`, name);
  return existsSync(cached) || findFitting(program, module) !== undefined;
}

function findBuilder(program: string): [string, GoModule] {
  const found = Object.entries(MODULES).find(([, module]) => module.programs.includes(program));
  if (!found) throw new Error(`no module builds ${program}`);
  return found;
}

function findFitting(program: string, { accepts }: GoModule): string | undefined {
  if (!accepts) return undefined;
  const path = findProgram(program);
  if (!path) return undefined;
  const { stdout } = spawnSync(path, accepts.args, { encoding: 'utf8' });
  return accepts.output.test(stdout ?? '') ? path : undefined;
}

/** A link with the program's name to a multi-call binary. */
function linkProgram(folder: string, binaryName: string, program: string): string {
  const path = join(folder, program);
  if (program !== binaryName && !existsSync(path))
    try {
      symlinkSync(binaryName, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  return path;
}

const moduleFolder = (name: string): string => join(import.meta.dirname, 'go', MODULES[name]!.folder ?? name);

/** Changes with anything that the binary is built from. */
function hashModule(name: string): string {
  const { variables = {}, tags } = MODULES[name]!;
  const hash = createHash('sha256').update(JSON.stringify(variables));
  if (tags) hash.update(JSON.stringify(tags));
  for (const file of globSync('*.{mod,sum,go}', { cwd: moduleFolder(name) }).sort())
    hash.update(readFileSync(join(moduleFolder(name), file)));
  return hash.digest('hex').slice(0, 12);
}

const GO_CACHE = join(CACHE_FOLDER, 'go-build');
const GO_SETTINGS = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false', GOCACHE: GO_CACHE };

async function build(name: string, module: GoModule, binary: string): Promise<void> {
  if (!findProgram('go'))
    throw new Error('go is missing: install Go 1.26 or later (https://go.dev/dl), then run this again');
  mkdirSync(join(binary, '..'), { recursive: true });
  const variables = Object.entries(module.variables ?? {}).map(([key, value]) => `-X ${key}=${value}`);
  const modfile = module.modfile ? `-modfile=${module.modfile}` : '';
  const compile = `go build -trimpath ${modfile} -tags '${(module.tags ?? []).join(',')}' -ldflags '${['-s -w', ...variables].join(' ')}' -o "$1.part" ${module.package ?? '.'}`;
  // One lock for all modules: concurrent builds would only compete for memory and cores.
  const args = [
    join(CACHE_FOLDER, 'bin', 'build.lock'),
    'sh',
    '-c',
    `test -x "$1" || { ${compile} && mv "$1.part" "$1"; }`,
    'sh',
    binary,
  ];
  const what = module.programs.join(', ');
  console.error(`building ${what} (about ${module.minutes} min the first time, cached afterwards)…`);
  const start = performance.now();
  const child = spawn('flock', args, {
    cwd: moduleFolder(name),
    env: { ...process.env, ...GO_SETTINGS },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const minutes = () => ((performance.now() - start) / 60_000).toFixed(1);
  const ticker = setInterval(
    () => console.error(`  still building ${name}: ${minutes()} of about ${module.minutes} min`),
    30_000,
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(ticker));
  if (code !== 0) throw new Error(`building ${name} failed:\n${errors.trimEnd()}`);
  console.error(`built ${what} in ${minutes()} min`);
}
