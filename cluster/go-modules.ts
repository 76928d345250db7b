/** Programs that are built with Go from `go/`: what each is built from, and where it is once it was built. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { findProgram } from '../machine/system-package.ts';

export interface GoModule {
  /** Its folder in `go/`, if not named like the module. */
  folder?: string;
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
/** The oldest that Berth supports. */
export const OLDEST_KUBERNETES_VERSION = 'v1.29.15';

/** Without a version Helm's checks of `kubeVersion` would see v0.0.0. */
function setVersion(version: string): Record<string, string> {
  const [major, minor] = version.slice(1).split('.') as [string, string];
  const settings = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value]),
  );
}

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
    variables: setVersion(KUBERNETES_VERSION),
    minutes: 7,
  },
  'kube-apiserver-oldest': {
    programs: ['kube-apiserver-oldest'],
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    variables: setVersion(OLDEST_KUBERNETES_VERSION),
    minutes: 9,
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
  healthcheck: { programs: ['healthcheck'], minutes: 1 },
  kwok: { programs: ['kwok'], package: 'sigs.k8s.io/kwok/cmd/kwok', minutes: 3 },
  kueue: { programs: ['kueue'], package: 'sigs.k8s.io/kueue/cmd/kueue', minutes: 5 },
  versitygw: {
    programs: ['versitygw'],
    package: 'github.com/versity/versitygw/cmd/versitygw',
    minutes: 3,
    accepts: { args: ['--version'], output: /v1\./i },
  },
  seaweedfs: { programs: ['weed'], package: 'github.com/seaweedfs/seaweedfs/weed', minutes: 8 },
};

/** What builds a program, and the path of the binary that is made. */
export function describeProgram(program: string): { name: string; module: GoModule; binary: string } {
  const found = Object.entries(MODULES).find(([, { programs }]) => programs.includes(program));
  if (!found) throw new Error(`no module builds ${program}`);
  const [name, module] = found;
  return { name, module, binary: join(CACHE_FOLDER, 'bin', `${name}-${hashModule(name)}`, name) };
}

/** The machine's own program if suitable, else the one in the cache; undefined if it has to be built. */
export function findBinary(program: string): string | undefined {
  const { module, binary } = describeProgram(program);
  const own = findFitting(program, module);
  if (own) return own;
  return existsSync(binary) ? linkProgram(binary, program) : undefined;
}

/** Changes with anything that these programs are built from. */
export const hashPrograms = (programs: string[]): string =>
  programs.map((program) => hashModule(describeProgram(program).name)).join('-');

function findFitting(program: string, { accepts }: GoModule): string | undefined {
  if (!accepts) return undefined;
  const path = findProgram(program);
  if (!path) return undefined;
  const { stdout } = spawnSync(path, accepts.args, { encoding: 'utf8' });
  return accepts.output.test(stdout ?? '') ? path : undefined;
}

/** A link with the program's name to a multi-call binary. */
function linkProgram(binary: string, program: string): string {
  const path = join(dirname(binary), program);
  if (!existsSync(path))
    try {
      symlinkSync(basename(binary), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  return path;
}

export const moduleFolder = (name: string): string =>
  join(import.meta.dirname, 'go', MODULES[name]!.folder ?? name);

/** Changes with anything that the binary is built from. */
function hashModule(name: string): string {
  const { variables = {}, tags } = MODULES[name]!;
  const hash = createHash('sha256').update(JSON.stringify(variables));
  if (tags) hash.update(JSON.stringify(tags));
  for (const file of globSync('*.{mod,sum,go}', { cwd: moduleFolder(name) }).sort())
    hash.update(readFileSync(join(moduleFolder(name), file)));
  return hash.digest('hex').slice(0, 12);
}
