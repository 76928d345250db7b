/** How long files of tests take: what lets those that run side by side end at the same time. */

/** Assumed for a file that is not listed. */
const SECONDS = 8;
/** Rounded, beside other files on two cores; a stage says at its end which take longest. */
const SLOW: Record<string, number> = {
  'unit/operator/scaling/stability': 25,
  'unit/redis/request-list': 12,
  'integration/jobs/recovery': 90,
  'integration/front/cold-start': 80,
  'integration/front/sidecar': 80,
  'integration/launch/gpu-check': 70,
  'integration/gateway/large-bodies': 60,
  'integration/gateway/expensive-bodies': 60,
  'integration/launch/scaling': 60,
  'integration/front/busy-engine': 45,
  'integration/front/peers': 40,
  'integration/jobs/storm': 40,
  'integration/launch/prometheus': 35,
  'integration/jobs/lost-worker': 35,
  'integration-cluster/operator/tenant-attacks': 170,
  'integration-cluster/launch/alerts': 80,
  'integration-cluster/operator/lifecycle': 60,
  'integration-cluster/console/tenant-attacks': 60,
  'integration-cluster/versions/versions': 50,
  'integration-cluster/console/oidc-sessions': 45,
  'integration-cluster/operator/scaling': 40,
  'integration-cluster/launch/local-node': 40,
  'integration-cluster/launch/gpu-check-pods': 40,
  'integration-cluster/storage/s3-stores': 40,
  'integration-cluster/weights/s3-loading': 40,
  'integration-cluster/storage/customer-stores': 30,
  'integration-cluster/jobs/front': 35,
  'integration-cluster/console/oidc-page': 30,
  'conformance/coding-agents': 200,
  'conformance/openapi': 50,
  'conformance/openai-videos': 20,
  'conformance/openai-node': 20,
  'conformance/openai-python': 20,
  'conformance/openai-images': 15,
  'conformance/documentation': 15,
  'console/accessibility-scenes': 120,
  'console/accessibility-pages': 70,
  'console/deployments': 60,
  'console/webhooks': 50,
  'console/faults': 40,
  'console/usage': 30,
  'console/session-change': 30,
  'console/palette': 30,
  'console/requests': 30,
  'console/playground': 30,
  'console/keys': 30,
  'console/scaling': 25,
  'console/feedback': 25,
  'console/deploying': 25,
  'console/tasks': 25,
  'console/transfer': 25,
  'console/long-lists': 25,
  'console/session': 20,
  'console/chat': 15,
  'console/followed-request': 15,
  'console/deliveries': 15,
  'console/operating': 15,
  'console/rights': 10,
};

const readSeconds = (file: string): number =>
  SLOW[file.replace(/^test\//, '').replace(/\.test\.ts$/, '')] ?? SECONDS;

/** The longest first: started last, one would go on alone. */
export const sortByDuration = (files: readonly string[]): string[] =>
  files.toSorted((a, b) => readSeconds(b) - readSeconds(a));

/** Parts that take about as long as each other, each in the order of `files`; as many as there are files at most. */
export function divideEvenly(files: readonly string[], count: number): string[][] {
  const size = Math.max(1, Math.min(count, files.length));
  const parts = Array.from({ length: size }, () => ({ seconds: 0, files: new Set<string>() }));
  for (const file of sortByDuration(files)) {
    const part = parts.reduce((least, each) => (each.seconds < least.seconds ? each : least));
    part.seconds += readSeconds(file);
    part.files.add(file);
  }
  return parts.map((part) => files.filter((file) => part.files.has(file)));
}
