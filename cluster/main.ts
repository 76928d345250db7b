/** `main.ts up|down|status|exec`: a cluster from the command line. */
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinary } from './binaries.ts';
import { type ClusterOptions, startCluster, stopCluster } from './cluster.ts';
import { llamaCppImage, projectImages, redisImage } from './images.ts';
import { runKubectl } from './kubectl.ts';
import { DEFAULT_DOMAIN, DEFAULT_NAME, readCluster } from './layout.ts';

const USAGE = `usage: main.ts COMMAND [--name ${DEFAULT_NAME}]
  up [--domain ${DEFAULT_DOMAIN}] [--gpus 2] [--no-images]   start the cluster
  down                       stop it and remove what it left
  status                     show its nodes and pods
  exec -- COMMAND…           run a command in its network, with KUBECONFIG set`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    name: { type: 'string', default: DEFAULT_NAME },
    domain: { type: 'string', default: DEFAULT_DOMAIN },
    gpus: { type: 'string', default: '2' },
    'no-images': { type: 'boolean', default: false },
  },
});
const [command, ...rest] = positionals;

const COMMANDS: Record<string, () => Promise<void>> = {
  up: async () => {
    const options: ClusterOptions = { name: values.name, domain: values.domain, gpus: Number(values.gpus) };
    const images = values['no-images'] ? [] : [redisImage, llamaCppImage, ...projectImages()];
    const cluster = await startCluster({ ...options, images });
    console.log(`node     ${cluster.nodeIP}, ingress hosts under ${cluster.domain}
kubectl  node cluster/main.ts exec --name ${cluster.name} -- kubectl get pods -A`);
  },
  down: () => stopCluster(values.name),
  status: async () => {
    const get = ['get', 'nodes,pods', '-A', '-o', 'wide', '--request-timeout=5s'];
    console.log(await runKubectl(readCluster(values.name), get));
  },
  exec: runInside,
};

/** The built kubectl and helm come first on its PATH. */
async function runInside(): Promise<void> {
  const { exec, kubeconfig } = readCluster(values.name);
  const folders = [await ensureBinary('kubectl'), await ensureBinary('helm')].map(dirname);
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    PATH: [...folders, process.env.PATH].join(':'),
  };
  const [program, ...args] = [...exec, ...rest];
  const child = spawn(program!, args, { env, stdio: 'inherit' });
  process.exitCode = await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

if (!command || !COMMANDS[command]) {
  console.error(USAGE);
  process.exit(2);
}
try {
  await COMMANDS[command]();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
