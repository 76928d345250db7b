import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { stopCluster } from '../../cluster/cluster.ts';
import { runCommand } from '../../cluster/commands.ts';
import { ensureDocker, releaseDocker, runDocker, tryDocker } from '../../cluster/docker.ts';
import { ensurePulled } from '../../cluster/image-pull.ts';
import { buildImages, redisImage, traefikImage } from '../../cluster/images.ts';
import { runKubectl } from '../../cluster/kubectl.ts';
import { readCluster, stateFolder } from '../../cluster/layout.ts';
import { ensureNodeImage } from '../../cluster/node-image.ts';
import { ensureProgram } from '../../machine/system-package.ts';
import { findFreePort } from '../support/child-program.ts';
import { answersHTTP, makeFolder, type ServerProcess, startServer } from '../support/server-process.ts';

const NAME = 'berth-pull';
/** A tag of its own: a developer's Docker may have the published one. */
const NODE_IMAGE = 'docker.io/kindest/node:v1.37.2-berth-test';

/**
 * A registry of this machine has the images that were built here, under the paths of the published ones. That those are like these is
 * not shown.
 */
describe('a cluster whose images are pulled', function () {
  this.timeout(900_000);
  const folder = makeFolder('registry');
  const log = join(folder, 'log');
  let registry: ServerProcess | undefined;
  let mirror: string;
  before(async () => {
    await ensureDocker();
    const nodeImage = await ensureNodeImage();
    mirror = `127.0.0.1:${await findFreePort()}`;
    registry = await startRegistry();
    await push(nodeImage, NODE_IMAGE);
    for (const image of [traefikImage, redisImage]) {
      const [built] = await buildImages([image]);
      await push(built ?? (await ensurePulled(image.name)), image.name);
    }
  });
  after(async () => {
    await stopCluster(NAME);
    rmSync(stateFolder(NAME), { recursive: true, force: true });
    await registry?.stop();
    await tryDocker(['rmi', NODE_IMAGE]);
    await releaseDocker();
  });

  function startRegistry(): Promise<ServerProcess> {
    const config = join(folder, 'config.yml');
    const settings = {
      version: '0.1',
      storage: { filesystem: { rootdirectory: join(folder, 'images') } },
      // Listens in every network: nodes have one of their own.
      http: { addr: `:${mirror.split(':')[1]}` },
    };
    writeFileSync(config, JSON.stringify(settings));
    const program = ensureProgram('docker-registry', 'docker-registry');
    return startServer({
      program: 'sh',
      args: ['-c', 'exec "$0" serve "$1" > "$2" 2>&1', program, config, log],
      folder,
      isReady: () => answersHTTP(`http://${mirror}/v2/`),
    });
  }

  async function push(image: string, published: string): Promise<void> {
    const copy = `${mirror}/${published.replace(/^[^/]+\//, '')}`;
    await runDocker(['tag', image, copy]);
    await runDocker(['push', '--quiet', copy]);
    await runDocker(['rmi', copy]);
  }

  it('takes its node from a mirror, and has containerd take there what pods run', async () => {
    const env = { IMAGES: '', IMAGE_MIRROR: `http://${mirror}`, NODE_IMAGE };
    await runCommand(['node', 'cluster/main.ts', 'up', '--name', NAME, '--no-images'], { env });
    const cluster = readCluster(NAME);
    await runKubectl(cluster, ['run', 'redis', `--image=${redisImage.name}`]);
    await runKubectl(cluster, ['wait', 'pod/redis', '--for=condition=Ready', '--timeout=120s']);
    const answer = await runCommand([...cluster.exec, 'curl', '-s', `http://any.${cluster.domain}/`]);
    expect(answer).to.include('404');

    // Docker only asks what a name stands for, of an image that it has.
    const pulls = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /"(GET|HEAD) \/v2\/\S+\/manifests\//.test(line));
    const listPulled = (client: RegExp) => pulls.filter((line) => client.test(line)).join('\n');
    expect(listPulled(/"docker\//)).to.include('/v2/kindest/node/manifests/');
    expect(listPulled(/"containerd\//))
      .to.include('/v2/library/traefik/manifests/')
      .and.include('/v2/valkey/valkey/manifests/');
  });
});
