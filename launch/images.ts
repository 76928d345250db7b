/** `images.ts [CLUSTER]`, run by `make images`: builds what the chart installs, and loads it into a kind cluster that is there. */
import { clearGoCache, ensureBinary } from '../cluster/binaries.ts';
import { runCommand } from '../cluster/commands.ts';
import { ensureDocker } from '../cluster/docker.ts';
import { buildImages, projectImages, redisImage } from '../cluster/images.ts';

try {
  await ensureDocker();
  const images = await buildImages([redisImage, ...projectImages()]);
  const kind = await ensureBinary('kind');
  clearGoCache();
  const clusters = (await runCommand([kind, 'get', 'clusters'])).split('\n').filter(Boolean);
  const cluster = chooseCluster(clusters);
  if (cluster) await runCommand([kind, 'load', 'docker-image', '--name', cluster, ...images]);
  console.log(`${cluster ? `in kind's cluster ${cluster}` : 'in Docker (kind has no cluster yet)'}:`);
  for (const image of images) console.log(`  ${image}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Throws where it is unclear which one is meant. */
function chooseCluster(clusters: string[]): string | undefined {
  const wanted = process.argv[2];
  const list = clusters.join(', ') || 'none';
  if (wanted && !clusters.includes(wanted)) throw new Error(`kind has no cluster ${wanted}; it has ${list}`);
  if (wanted || clusters.length < 2) return wanted ?? clusters[0];
  throw new Error(`kind has several clusters: choose one by CLUSTER=NAME (${list})`);
}
