/** The origin under which a browser reached the console, and its cookie settings. Pure. */

export interface OriginSettings {
  /** See CONSOLE_ENV.publicURL and plainHTTP. */
  publicURL: string | null;
  plainHTTP: boolean;
}

export interface HostSettings {
  /** Address; undefined = all. */
  listensOn: string | undefined;
  publicURL: string | null;
}

export interface RequestAddress {
  /** The Host header. */
  host: string;
  /** The X-Forwarded-Proto header; '' without. */
  forwardedProto: string;
}

export interface RequestOrigin {
  origin: string;
  isHTTPS: boolean;
  isLoopback: boolean;
  /** Whether sign-in is allowed: not if the cookie would be sent in plain text over a network. */
  maySignIn: boolean;
  cookie: { name: string; isSecure: boolean };
}

const LOOPBACK = /^(([a-z0-9-]+\.)*localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?$/;

/**
 * Whether any Host header is accepted. Not if it listens on loopback only: after DNS rebinding, a browser would consider
 * another site to be of the console's origin.
 */
export function takesAnyHost({ listensOn, publicURL }: HostSettings): boolean {
  if (publicURL !== null || listensOn === undefined) return true;
  return !LOOPBACK.test(listensOn.includes(':') ? `[${listensOn}]` : listensOn);
}

/** `host`: the Host header in lowercase. */
export const isOwnHost = (host: string, settings: HostSettings): boolean =>
  takesAnyHost(settings) || LOOPBACK.test(host);

export function describeOrigin(
  { host, forwardedProto }: RequestAddress,
  { publicURL, plainHTTP }: OriginSettings,
): RequestOrigin {
  const isLoopback = LOOPBACK.test(host);
  const derived = `${forwardedProto === 'https' ? 'https' : 'http'}://${host}`;
  // Tunnels to loopback, such as kubectl port-forward, do not use the public origin.
  const origin = publicURL !== null && !isLoopback ? publicURL : derived;
  const isHTTPS = origin.startsWith('https:');
  // Browsers accept Secure cookies over plain HTTP only on loopback.
  const isSecure = isHTTPS || (isLoopback && !plainHTTP);
  return {
    origin,
    isHTTPS,
    isLoopback,
    maySignIn: isHTTPS || isLoopback || plainHTTP,
    cookie: { name: isSecure ? '__Host-berth' : 'berth', isSecure },
  };
}
