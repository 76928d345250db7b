/** The front of `make run`: the same as in a cluster, with a folder instead of a bucket. */
import { join, resolve } from 'node:path';
import { GATEWAY_ENV } from '../api/gateway-environment.ts';
import type { MemoryApi } from '../kube/memory/memory-api.ts';
import { LOCAL_EGRESS, LOOPBACK, type LocalPorts, localRedisURL } from './local-plan.ts';
import { type Child, startChild } from './processes/child-process.ts';

/** The namespace of Berth's own parts. */
export const SYSTEM_NAMESPACE = 'berth-system';
export const FRONT_SERVICE = 'berth-front';

/** `folder`: the state folder. */
export function startFront(ports: LocalPorts, folder: string, masterKey: string): Child {
  return startChild({
    name: 'front',
    command: process.execPath,
    args: ['gateway/main.ts'],
    env: {
      [GATEWAY_ENV.role]: 'front',
      [GATEWAY_ENV.podName]: 'front',
      [GATEWAY_ENV.redisURL]: localRedisURL(ports.redis, masterKey, 'front'),
      [GATEWAY_ENV.host]: LOOPBACK,
      [GATEWAY_ENV.httpPort]: String(ports.front),
      [GATEWAY_ENV.adminPort]: String(ports.admin),
      [GATEWAY_ENV.metricsPort]: String(ports.metrics),
      [GATEWAY_ENV.internalPort]: String(ports.internal),
      [GATEWAY_ENV.documentationURL]: `http://${LOOPBACK}:${ports.console}/docs`,
      [GATEWAY_ENV.drainTimeoutMs]: '2000',
      [GATEWAY_ENV.secretPath]: resolve(folder),
      [GATEWAY_ENV.spoolPath]: resolve(folder, 'spool'),
      [GATEWAY_ENV.storageFolder]: resolve(folder, 'storage'),
      [GATEWAY_ENV.storagePort]: String(ports.storage),
      [GATEWAY_ENV.egressAllow]: LOCAL_EGRESS.allow.join(','),
      [GATEWAY_ENV.egressPlainHTTP]: String(LOCAL_EGRESS.plainHTTP),
    },
    logPath: join(folder, 'logs', 'front.log'),
  });
}

/** Objects that an installation provides: the front's slices for the operator, and an IngressClass. */
export function describeInstallation(api: MemoryApi): void {
  if (!api.find('namespaces', { name: SYSTEM_NAMESPACE }))
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } });
  api.create('endpointslices.discovery.k8s.io', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: FRONT_SERVICE,
      namespace: SYSTEM_NAMESPACE,
      labels: { 'kubernetes.io/service-name': FRONT_SERVICE },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [LOOPBACK], conditions: { ready: true, serving: true, terminating: false } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
  // Its Ingresses have no effect: each deployment has its own port.
  api.create('ingressclasses.networking.k8s.io', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'make-run', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: 'berth.dev/make-run' },
  });
}
