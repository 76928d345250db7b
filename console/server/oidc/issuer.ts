/** The owner of openid-client: sign-in with the OIDC issuer that the API server trusts, by authorization code and PKCE. */
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  None,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
  tokenRevocation,
} from 'openid-client';
import { IssuerConnection } from './issuer-connection.ts';
import { IssuerError, type IssuerErrorKind } from './issuer-error.ts';

export interface OIDCSettings {
  /** As the API server has it. */
  issuer: string;
  clientId: string;
  /** undefined = a public client. */
  clientSecret: string | undefined;
  scopes: string[];
  /** Of the identity provider, for users. */
  name: string | null;
  /** PEM; undefined = the system's CA certificates. */
  ca: string | undefined;
}

/** What the issuer gives for a code or a refresh token. */
export interface Tokens {
  idToken: string;
  /** null: the ID token cannot be renewed. */
  refreshToken: string | null;
  subject: string;
  /** Of the ID token; Unix milliseconds. */
  endsAt: number;
}

/** What must be the same when the browser comes back. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

type GrantedTokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** Errors with which the browser may come back; others are faults of the set-up. */
const SIGN_IN_ERRORS: Partial<Record<string, IssuerErrorKind>> = {
  access_denied: 'denied',
  login_required: 'denied',
  consent_required: 'denied',
  interaction_required: 'denied',
  account_selection_required: 'denied',
  server_error: 'away',
  temporarily_unavailable: 'away',
};

const CALL_TIMEOUT_SECONDS = 10;
/** How long what the issuer says about itself is used. */
const DISCOVERY_TTL_MS = 10 * 60_000;
const DISCOVERY_RETRY_MS = 30_000;

export class Issuer {
  readonly #settings: OIDCSettings;
  readonly #connection: IssuerConnection;
  readonly #clock: () => number;
  #known: { configuration: Configuration; staleAt: number } | null = null;
  #discovering: Promise<Configuration> | null = null;

  constructor(settings: OIDCSettings, clock: () => number = Date.now) {
    this.#settings = settings;
    this.#connection = new IssuerConnection(settings.ca);
    this.#clock = clock;
  }

  /** For users; null if it has none. */
  get name(): string | null {
    return this.#settings.name;
  }

  /** Who the issuer is, at the start of a sentence. */
  get provider(): string {
    return this.name ?? 'The identity provider';
  }

  get clientId(): string {
    return this.#settings.clientId;
  }

  /** Where to send the browser. Throws IssuerError. */
  async begin(redirectURI: string): Promise<SignInSecrets & { url: string }> {
    const configuration = await this.discover();
    const secrets = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const challenge = await calculatePKCECodeChallenge(secrets.verifier);
    const url = buildURL(() =>
      buildAuthorizationUrl(configuration, {
        redirect_uri: redirectURI,
        scope: this.#settings.scopes.join(' '),
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }),
    );
    return { ...secrets, url };
  }

  /** `url`: the redirect URI with what the issuer added. Throws IssuerError. */
  async finish(url: URL, { state, nonce, verifier }: SignInSecrets): Promise<Tokens> {
    const configuration = await this.discover();
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    return readTokens(await authorizationCodeGrant(configuration, url, checks).catch(translateError));
  }

  /** Throws IssuerError. */
  async renew({ refreshToken, subject }: { refreshToken: string; subject: string }): Promise<Tokens> {
    const configuration = await this.discover();
    const tokens = readTokens(await refreshTokenGrant(configuration, refreshToken).catch(translateError));
    if (tokens.subject !== subject) throw new IssuerError('rejected', 'the tokens are of another user');
    // Without a new one the old one goes on.
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
  }

  /** Where the issuer can. Throws IssuerError. */
  async revoke(refreshToken: string): Promise<void> {
    const configuration = await this.discover();
    if (configuration.serverMetadata().revocation_endpoint)
      await tokenRevocation(configuration, refreshToken).catch(translateError);
  }

  /** Where the browser signs out of the issuer, too; null where the issuer has no such page, or was never reached. */
  describeSignOut(idToken: string, returnURI: string): string | null {
    const configuration = this.#known?.configuration;
    if (!configuration?.serverMetadata().end_session_endpoint) return null;
    const hints = { id_token_hint: idToken, post_logout_redirect_uri: returnURI };
    try {
      return buildURL(() => buildEndSessionUrl(configuration, hints));
    } catch {
      return null;
    }
  }

  /** What the issuer says about itself; what it said before if it does not respond. Throws IssuerError. */
  async discover(): Promise<Configuration> {
    if (this.#known && this.#clock() < this.#known.staleAt) return this.#known.configuration;
    this.#discovering ??= this.#ask().finally(() => {
      this.#discovering = null;
    });
    try {
      const configuration = await this.#discovering;
      this.#known = { configuration, staleAt: this.#clock() + DISCOVERY_TTL_MS };
    } catch (error) {
      if (!this.#known) throw error;
      this.#known.staleAt = this.#clock() + DISCOVERY_RETRY_MS;
    }
    return this.#known.configuration;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #ask(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    return discovery(new URL(issuer), clientId, undefined, chooseAuthentication(clientSecret), {
      [customFetch]: this.#connection.fetch,
      timeout: CALL_TIMEOUT_SECONDS,
    }).catch(translateError);
  }
}

/** Basic is the default of the standard, but its encoding differs between issuers. */
function chooseAuthentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const post = ClientSecretPost(secret);
  const basic = ClientSecretBasic(secret);
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? [];
    (methods.includes('client_secret_post') ? post : basic)(server, ...rest);
  };
}

/** Browsers go there, so it must be no script. Throws IssuerError. */
function buildURL(build: () => URL): string {
  try {
    const { protocol, href } = build();
    if (protocol === 'https:') return href;
  } catch (error) {
    translateError(error);
  }
  throw new IssuerError('misconfigured', 'an endpoint of the issuer is not an https:// URL');
}

function readTokens(granted: GrantedTokens): Tokens {
  const claims = granted.claims();
  if (!claims || !granted.id_token) throw new IssuerError('misconfigured', 'the issuer returned no ID token');
  return {
    idToken: granted.id_token,
    refreshToken: granted.refresh_token ?? null,
    subject: claims.sub,
    endsAt: claims.exp * 1_000,
  };
}

/** Throws IssuerError. */
function translateError(error: unknown): never {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof IssuerError) throw cause;
  if (error instanceof AuthorizationResponseError) {
    const words = [error.error, error.error_description].filter(Boolean).join(': ');
    throw new IssuerError(SIGN_IN_ERRORS[error.error] ?? 'misconfigured', words, { cause: error });
  }
  if (error instanceof ResponseBodyError) {
    const kind = error.error === 'invalid_grant' ? 'rejected' : 'misconfigured';
    const words = [error.error, error.error_description].filter(Boolean).join(': ');
    throw new IssuerError(kind, words, { cause: error });
  }
  if (error instanceof ClientError && error.code === 'OAUTH_TIMEOUT')
    throw new IssuerError('away', 'the issuer did not respond in time', { cause: error });
  throw new IssuerError('misconfigured', describe(error), { cause: error });
}

/** The cause says more than the library's summary. */
const describe = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : String((error as Error).message ?? error);
