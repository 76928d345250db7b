/** Shows, for the first tests that fail, what the cluster looked like just then. */
import { kubectl } from './installation.ts';

const MAX_REPORTS = 3;
let reports = 0;

const VIEWS: [string, string[]][] = [
  ['deployments and pods', ['get', 'modeldeployments,pods,endpointslices', '-A', '-o', 'wide']],
  ['events', ['get', 'events', '-A', '--sort-by=.lastTimestamp']],
  [
    'operator',
    ['logs', '-n', 'berth', '-l', 'app.kubernetes.io/component=operator', '--prefix', '--tail=60'],
  ],
  ['front', ['logs', '-n', 'berth', '-l', 'app.kubernetes.io/component=front', '--prefix', '--tail=30']],
  ['console', ['logs', '-n', 'berth', '-l', 'app.kubernetes.io/component=console', '--prefix', '--tail=30']],
  ['gateways', ['logs', '-l', 'app.kubernetes.io/component=model', '-c', 'gateway', '--prefix', '--tail=15']],
];

export const mochaHooks = {
  async afterEach(this: Mocha.Context): Promise<void> {
    if (this.currentTest?.state !== 'failed' || ++reports > MAX_REPORTS) return;
    console.error(`\n--- the cluster when "${this.currentTest.fullTitle()}" failed`);
    for (const [title, args] of VIEWS) {
      const text = await kubectl(...args, '--request-timeout=10s').catch((error: Error) => error.message);
      console.error(`--- ${title}\n${text.split('\n').slice(-80).join('\n')}`);
    }
  },
};
