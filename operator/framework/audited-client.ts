/** Audit log of writes other than applies, which the applier logs, since it knows whether they changed anything. */
import type { Logger } from '../../kit/log.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Resource } from '../../kube/resource.ts';

/** The operator's own records, which change all the time. */
const UNAUDITED = new Set(['Event', 'Lease']);

/** A client that logs successful writes with `audit: true`. */
export function auditWrites<C extends KubeClient>(client: C, log: Pick<Logger, 'info'>): C {
  const audit = (action: string, { kind }: Resource, at: { namespace?: string; name?: string }) => {
    if (UNAUDITED.has(kind)) return;
    const { namespace, name } = at;
    log.info({ audit: true, action, kind, namespace, name }, 'audit');
  };
  const create: KubeClient['create'] = async (resource, object, call) => {
    const created = await client.create(resource, object, call);
    audit('create', resource, created.metadata);
    return created;
  };
  const update: KubeClient['update'] = async (resource, object, call) => {
    const updated = await client.update(resource, object, call);
    audit('update', resource, object.metadata);
    return updated;
  };
  const mergePatch: KubeClient['mergePatch'] = async <T>(
    ...[resource, change]: Parameters<KubeClient['mergePatch']>
  ) => {
    const patched = await client.mergePatch(resource, change);
    audit('patch', resource, change.at);
    return patched as T;
  };
  const remove: KubeClient['delete'] = async (resource, at, options) => {
    await client.delete(resource, at, options);
    audit('delete', resource, at);
  };
  return { ...client, create, update, mergePatch, delete: remove };
}
