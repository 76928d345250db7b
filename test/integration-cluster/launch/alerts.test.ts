/** The chart's alerts over short windows: each fires for a real cause in a `make run`, and stops when that ends. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import { OUTSIDE_ADDRESS } from '../../../launch/local-buckets.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { startLocalPrometheus } from '../../support/local-prometheus.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';
import { pollUntil } from '../../support/poll.ts';
import { usePrometheus } from '../../support/prometheus.ts';
import { connectTo } from '../../support/redis-client.ts';
import type { RunningPrometheus } from '../../support/running-prometheus.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { shortenAlerts } from '../../support/short-alerts.ts';
import {
  BUCKET,
  type Cause,
  describeObjects,
  listDeploymentCauses,
  listPlatformCauses,
} from './alert-causes.ts';

const TIMEOUT_MS = 120_000;
const INTERVAL_MS = 250;

describe('the alerts of the chart over a real Prometheus', function () {
  this.timeout(2 * TIMEOUT_MS);
  const findPrometheus = usePrometheus('prometheus');
  const folder = mkdtempSync(join(tmpdir(), 'berth-alerts-'));
  const hook = { url: '', status: 204 };
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(hook.status).end();
  });
  let s3: S3Server;
  let stack: LocalStack;
  let client: KubeClient;
  let connection: RedisConnection;
  let prometheus: RunningPrometheus;

  before(async () => {
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    hook.url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    s3 = await startS3({ host: OUTSIDE_ADDRESS });
    s3.createBucket(BUCKET);
    const models = join(folder, 'objects.yaml');
    writeFileSync(
      models,
      describeObjects(s3)
        .map((each) => JSON.stringify(each))
        .join('\n---\n'),
    );
    stack = await startLocalStack({ MODELS: models });
    client = createKubeClient({ config: loadKubeConfig({ file: join(stack.folder, 'kubeconfig') }) });
    connection = await connectTo({ url: stack.endpoints.redisURL });
    const ruleFile = join(folder, 'alerts.yaml');
    writeFileSync(ruleFile, shortenAlerts());
    prometheus = await startLocalPrometheus({ program: findPrometheus(), stack, client, ruleFile });
  });
  after(async () => {
    await prometheus?.stop();
    await connection?.close();
    await client?.close();
    await stack?.stop();
    await s3?.stop();
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Names of the cause's alerts that fire for it. */
  const listFiring = async ({ alerts }: Cause): Promise<string[]> => {
    const answers = Object.entries(alerts).map(async ([name, labels]) => {
      const selector = `ALERTS{alertstate="firing", alertname="${name}", ${labels}}`;
      return (await prometheus.query(selector)).length > 0 ? [name] : [];
    });
    return (await Promise.all(answers)).flat();
  };

  /** Makes the alerts of a cause fire, and stop. */
  const act = async (cause: Cause): Promise<void> => {
    const { what, alerts, begin, work, end } = cause;
    const count = Object.keys(alerts).length;
    expect(await listFiring(cause), `before ${what}`).to.deep.equal([]);
    const waitFor = async (firing: number, isBroken: boolean) => {
      let found: string[] = [];
      const isReached = async () => {
        await work?.(isBroken);
        found = await listFiring(cause);
        return found.length === firing;
      };
      await pollUntil(isReached, `${firing} alerts of ${what}`, TIMEOUT_MS, INTERVAL_MS).catch(
        (error: Error) => {
          throw new Error(`${error.message}, but: ${found.join(', ') || 'none'}`);
        },
      );
    };
    try {
      await begin?.();
      await waitFor(count, true);
    } finally {
      await end();
    }
    await waitFor(0, false);
  };

  const scene = () => ({ stack, client, redis: connection.redis, s3, hook });

  it('fire and stop for what goes wrong in deployments, queues and deliveries', async () => {
    const outcomes = await Promise.allSettled(listDeploymentCauses(scene()).map(act));
    const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(failures.map(String)).to.deep.equal([]);
  });

  it('fire and stop for what goes wrong in Redis and the operator', async () => {
    for (const cause of listPlatformCauses(scene())) await act(cause);
  });
});
