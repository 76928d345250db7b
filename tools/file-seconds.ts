/** How long files of tests take: what lets those that run side by side end at the same time. */

/** Of a file that is not listed. */
const SECONDS = 8;
/** Rounded, beside another file on two cores; a stage says at its end which take longest. */
const SLOW: Record<string, number> = {
  'integration/operator/tenant-attacks': 180,
  'integration/launch/scaling': 170,
  'integration/launch/gpu-check': 120,
  'integration/jobs/recovery': 110,
  'integration/front/sidecar': 110,
  'integration/console/tenant-attacks': 100,
  'integration/operator/lifecycle': 90,
  'integration/gateway/large-bodies': 80,
  'integration/front/busy-engine': 70,
  'integration/launch/alerts': 60,
  'integration/front/cold-start': 50,
  'integration/jobs/storm': 50,
  'conformance/openapi': 40,
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
  'console/oidc': 30,
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
