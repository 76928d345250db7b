/** Where a key or a token would pass other machines unencrypted. Pure. */
import type { Variables } from '../../kit/environment.ts';

/** This machine. */
const LOCAL = /^(([a-z0-9-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;
/** Services of a cluster, whose names mean something only to its pods. */
const SERVICE = /^[a-z0-9.-]+\.svc(\.cluster\.local)?$/;

/** `isInPod`: of a cluster. */
export const isReadableByOthers = ({ protocol, hostname }: URL, isInPod: boolean): boolean =>
  protocol === 'http:' && !LOCAL.test(hostname) && !(isInPod && SERVICE.test(hostname));

/** The kubelet sets it. */
export const isPod = (variables: Variables): boolean => variables.KUBERNETES_SERVICE_HOST !== undefined;
