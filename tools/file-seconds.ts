/** How long files of tests take: what lets those that run side by side end at the same time. */

/** Assumed for a file that is not listed. */
const SECONDS = 8;
/** Rounded, beside other files on two cores; a stage says at its end which take longest. */
const SLOW: Record<string, number> = {
  'unit/operator/scaling/stability': 15,
  'unit/operator/framework/many-objects': 12,
  'unit/kube/object-cost': 12,
  'unit/redis/request-list': 12,
  'unit/simulator/videos': 10,
  'integration/jobs/recovery': 90,
  'integration/front/cold-start': 70,
  'integration/gateway/large-bodies': 70,
  'integration/media/requests-adversity': 70,
  'integration/front/sidecar': 65,
  'launch/gpu-check': 60,
  'launch/scaling': 50,
  'integration/front/busy-engine': 50,
  'launch/own-model': 45,
  'launch/start': 45,
  'launch/restart': 45,
  'integration/gateway/tiny-pieces': 45,
  'integration/gateway/expensive-bodies': 40,
  'integration/front/peers': 40,
  'integration/jobs/storm': 40,
  'launch/prometheus': 35,
  'integration/jobs/lost-worker': 35,
  'integration-cluster/console/tenant-attacks': 180,
  'integration-cluster/operator/tenant-attacks': 150,
  'integration-cluster/launch/alerts': 100,
  'integration-cluster/operator/lifecycle': 85,
  'integration-cluster/versions/versions': 75,
  'integration-cluster/launch/gpu-check-pods': 75,
  'integration-cluster/launch/local-node': 70,
  'integration-cluster/console/oidc-sessions': 50,
  'integration-cluster/operator/scaling': 50,
  'integration-cluster/operator/webhook-endpoint': 50,
  'integration-cluster/storage/s3-stores': 50,
  'integration-cluster/operator/rest': 45,
  'integration-cluster/weights/s3-loading': 40,
  'integration-cluster/jobs/front': 35,
  'integration-cluster/storage/customer-stores': 30,
  'integration-cluster/console/oidc-page': 30,
  'conformance/coding-agents': 300,
  'conformance/openapi': 230,
  'conformance/openai-python': 85,
  'conformance/early-answers': 40,
  'conformance/anthropic-node': 40,
  'conformance/openai-videos': 40,
  'conformance/webhook-sdks': 35,
  'conformance/anthropic-python': 25,
  'conformance/openai-images': 20,
  'conformance/browser-page': 15,
  'conformance/documentation': 15,
  'console/accessibility-scenes': 190,
  'console/accessibility-pages': 115,
  'console/webhooks': 50,
  'console/usage': 45,
  'console/deployments': 45,
  'console/faults': 40,
  'console/keys': 35,
  'console/palette': 35,
  'console/long-lists': 35,
  'console/session-change': 30,
  'console/requests': 30,
  'console/deploying': 30,
  'console/playground': 30,
  'console/feedback': 25,
  'console/scaling': 25,
  'console/tasks': 25,
  'console/transfer': 25,
  'console/followed-request': 20,
  'console/chat': 20,
  'console/session': 20,
  'console/arrangement': 15,
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
