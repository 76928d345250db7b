/** Where a key or a token would pass other machines unencrypted. Pure. */

/** This machine, and Services of the cluster whose pod this is. */
const INNER = /^(([a-z0-9-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\]|[a-z0-9.-]+\.svc(\.cluster\.local)?)$/;

export const isReadableByOthers = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !INNER.test(hostname);
