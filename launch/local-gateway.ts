/** The gateway of `make run`: one process for all deployments, the front and the links to results. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GATEWAY_ENV } from '../contract/gateway-environment.ts';
import type { EgressSettings } from '../gateway/egress/agent.ts';
import { type Child, startChild } from './child-process.ts';
import { OUTSIDE_ADDRESS } from './local-buckets.ts';
import { LOOPBACK, type LocalPlan, localRedisURL } from './local-plan.ts';

/** Beside what is public: receivers of webhooks on this machine, and the bucket that stands for a customer's. */
export const LOCAL_EGRESS: EgressSettings = {
  allow: [`${LOOPBACK}/32`, `${OUTSIDE_ADDRESS}/32`],
  deny: [],
  plainHTTP: true,
};

/** `folder`: the state folder. */
export function startGateway(plan: LocalPlan, folder: string, masterKey: string): Child {
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify(describeListeners(plan)));
  return startChild({
    name: 'gateway',
    command: process.execPath,
    args: ['gateway/main.ts'],
    env: {
      [GATEWAY_ENV.role]: 'local',
      [GATEWAY_ENV.redisURL]: localRedisURL(plan.redisPort, masterKey, 'front'),
      [GATEWAY_ENV.adminPort]: String(plan.adminPort),
      [GATEWAY_ENV.metricsPort]: String(plan.metricsPort),
      [GATEWAY_ENV.localFile]: file,
      [GATEWAY_ENV.secretPath]: resolve(folder),
      [GATEWAY_ENV.spoolPath]: resolve(folder, 'spool'),
      [GATEWAY_ENV.storageFolder]: resolve(folder, 'storage'),
      [GATEWAY_ENV.storagePort]: String(plan.storagePort),
      [GATEWAY_ENV.egressAllow]: LOCAL_EGRESS.allow.join(','),
      [GATEWAY_ENV.egressPlainHTTP]: String(LOCAL_EGRESS.plainHTTP),
    },
    logPath: join(folder, 'logs', 'gateway.log'),
  });
}

const describeListeners = ({ frontPort, deployments }: LocalPlan) => ({
  frontPort,
  deployments: deployments.map(({ config, port, enginePort, controlPort }) => ({
    namespace: config.namespace,
    name: config.name,
    port,
    engineURL: controlPort === null ? null : `http://${LOOPBACK}:${enginePort}`,
    healthPath: '/health',
  })),
});
