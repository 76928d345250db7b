/** By which origin a browser reached the console, and what follows for cookies. Pure. */

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
  /** Whether a session may begin: not where anybody on the way could read its cookie. */
  maySignIn: boolean;
  cookie: { name: string; isSecure: boolean };
}

const LOOPBACK = /^(([a-z0-9-]+\.)*localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?$/;

/**
 * Whether requests of any name are taken. Not on an address of this machine alone: a page elsewhere whose name was
 * bound to it (DNS rebinding) would be of the console's own origin to the browser.
 */
export function takesAnyHost({ listensOn, publicURL }: HostSettings): boolean {
  if (publicURL !== null || listensOn === undefined) return true;
  return !LOOPBACK.test(listensOn.includes(':') ? `[${listensOn}]` : listensOn);
}

/** `host`: the Host header in lower case. */
export const isOwnHost = (host: string, settings: HostSettings): boolean =>
  takesAnyHost(settings) || LOOPBACK.test(host);

export function describeOrigin(
  { host, forwardedProto }: RequestAddress,
  { publicURL, plainHTTP }: OriginSettings,
): RequestOrigin {
  const isLoopback = LOOPBACK.test(host);
  const derived = `${forwardedProto === 'https' ? 'https' : 'http'}://${host}`;
  // A tunnel to this machine, such as kubectl port-forward, does not pass by the public origin.
  const origin = publicURL !== null && !isLoopback ? publicURL : derived;
  const isHTTPS = origin.startsWith('https:');
  // Browsers keep Secure cookies of plain http on loopback, and nowhere else.
  const isSecure = isHTTPS || (isLoopback && !plainHTTP);
  return {
    origin,
    isHTTPS,
    isLoopback,
    maySignIn: isHTTPS || isLoopback || plainHTTP,
    cookie: { name: isSecure ? '__Host-berth' : 'berth', isSecure },
  };
}
