/** A real OIDC provider over https, where users sign in with a name; it can be made to fail. */
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { makeCertificates } from './test-certificates.ts';

export const CLIENT = { id: 'berth-console', secret: 'a-secret-of-the-tests' };

const LONG = { RefreshToken: 86_400, Session: 86_400, Grant: 86_400, Interaction: 3_600 };

/** Responds instead of the provider. */
export type Misbehavior = (req: IncomingMessage, res: ServerResponse) => boolean;

export interface TestIssuer {
  url: string;
  /** PEM. */
  ca: string;
  provider: Provider;
  /** Paths of requests so far, such as `POST /token`. */
  calls: string[];
  /** Returns true if it has responded. */
  misbehave: Misbehavior;
  stop(): Promise<void>;
}

export interface IssuerOptions {
  /** Origins of the console. */
  origins: string[];
  /** Lifetime of ID tokens; 3600 by default. */
  idTokenSeconds?: number;
  /** 0 takes a free one. */
  port?: number;
}

/** `origins`: of consoles that may sign users in. */
export async function startIssuer({
  origins,
  idTokenSeconds = 3_600,
  port = 0,
}: IssuerOptions): Promise<TestIssuer> {
  const { ca, cert, key } = makeCertificates('DNS:localhost,IP:127.0.0.1');
  let handle: (req: IncomingMessage, res: ServerResponse) => void = () => {};
  const server = createServer({ cert, key }, (req, res) => handle(req, res));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const provider = createProvider(url, origins, idTokenSeconds);
  const issuer: TestIssuer = {
    url,
    ca,
    provider,
    calls: [],
    misbehave: () => false,
    stop: () => stop(server),
  };
  const answer = provider.callback();
  handle = (req, res) => {
    issuer.calls.push(`${req.method} ${req.url?.split('?')[0]}`);
    if (issuer.misbehave(req, res)) return;
    if (req.url?.startsWith('/interaction/')) interact(provider, req, res).catch(() => res.destroy());
    else answer(req, res);
  };
  return issuer;
}

function createProvider(url: string, origins: string[], idTokenSeconds: number): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return new Provider(url, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: origins.map((origin) => `${origin}/api/oidc/callback`),
        post_logout_redirect_uris: origins.map((origin) => `${origin}/`),
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
    cookies: { keys: ['of the tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // As most issuers do, and as the API server needs.
    conformIdTokenClaims: false,
    findAccount: async (_, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: id }),
    }),
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    ttl: { IdToken: idTokenSeconds, AccessToken: idTokenSeconds, ...LONG },
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId,
      });
      grant.addOIDCScope('openid email profile offline_access');
      await grant.save();
      return grant;
    },
  });
}

const FORM = `<!doctype html><title>Test issuer</title><h1>Test issuer</h1>
<form method="post"><label>Name <input name="login" autofocus></label>
<button>Continue</button><button name="cancel" value="1">Cancel</button></form>`;

async function interact(provider: Provider, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method !== 'POST') {
    res.writeHead(200, { 'content-type': 'text/html' }).end(FORM);
    return;
  }
  const body = new URLSearchParams(Buffer.concat(await req.toArray()).toString());
  const result = body.has('cancel')
    ? { error: 'access_denied', error_description: 'the user is not assigned to this application' }
    : { login: { accountId: body.get('login')! } };
  await provider.interactionFinished(req, res, result);
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
