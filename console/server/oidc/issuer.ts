/** The owner of openid-client: sign-in with the OIDC issuer that the API server trusts, by authorization code and PKCE (decision 0320). */
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
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
import { translateError } from './error-translation.ts';
import { IssuerConnection } from './issuer-connection.ts';
import { IssuerError } from './issuer-error.ts';

export interface OIDCSettings {
  /** As the API server has it. */
  issuer: string;
  clientId: string;
  /** undefined = a public client. */
  clientSecret: string | undefined;
  scopes: string[];
  /** The identity provider's name, for users. */
  name: string | null;
  /** PEM; undefined = the system's CA certificates. */
  ca: string | undefined;
}

/** The issuer's tokens for a code or a refresh token. */
export interface Tokens {
  idToken: string;
  /** null: the ID token cannot be renewed. */
  refreshToken: string | null;
  subject: string;
  /** When the ID token ends; Unix milliseconds. */
  endsAt: number;
}

/** What must match when the browser returns. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

type GrantedTokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

const CALL_TIMEOUT_SECONDS = 10;
/** How long the issuer's metadata is cached. */
const DISCOVERY_TTL_MS = 10 * 60_000;
const DISCOVERY_RETRY_MS = 30_000;

export class Issuer {
  readonly #settings: OIDCSettings;
  readonly #connection: IssuerConnection;
  readonly #clock: () => number;
  #known: { configuration: Configuration; staleAt: number } | null = null;
  #discovering: Promise<Configuration> | null = null;
  /** The client secret goes into the body, not into a header. */
  #usesPost = false;

  constructor(settings: OIDCSettings, clock: () => number = Date.now) {
    this.#settings = settings;
    this.#connection = new IssuerConnection(settings.ca);
    this.#clock = clock;
  }

  /** For users; null if it has none. */
  get name(): string | null {
    return this.#settings.name;
  }

  /** The issuer's name, at the start of a sentence. */
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

  /** `url`: the redirect URI with the issuer's parameters. Throws IssuerError. */
  async finish(url: URL, { state, nonce, verifier }: SignInSecrets): Promise<Tokens> {
    const configuration = await this.discover();
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    return readTokens(await this.#authenticate(() => authorizationCodeGrant(configuration, url, checks)));
  }

  /** Throws IssuerError. */
  async renew({ refreshToken, subject }: { refreshToken: string; subject: string }): Promise<Tokens> {
    const configuration = await this.discover();
    const granted = await this.#authenticate(() => refreshTokenGrant(configuration, refreshToken));
    if (!granted.id_token) throw new IssuerError('rejected', 'the issuer does not renew ID tokens');
    const tokens = readTokens(granted);
    if (tokens.subject !== subject) throw new IssuerError('rejected', 'the tokens are of another user');
    // Without a new one, the old one stays valid.
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
  }

  /** If the issuer supports it. Throws IssuerError. */
  async revoke(refreshToken: string): Promise<void> {
    const configuration = await this.discover();
    if (configuration.serverMetadata().revocation_endpoint)
      await tokenRevocation(configuration, refreshToken).catch(translateError);
  }

  /** URL to sign out of the issuer, too; null if the issuer has no such page, or was never reached. */
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

  /** The issuer's metadata; the cached one if it does not respond. Throws IssuerError. */
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
    const authentication = clientSecret === undefined ? None() : this.#sendSecret(clientSecret);
    return discovery(new URL(issuer), clientId, undefined, authentication, {
      [customFetch]: this.#connection.fetch,
      timeout: CALL_TIMEOUT_SECONDS,
    }).catch(translateError);
  }

  /** By a method that the issuer offers: in a header, as in the standard, unless it was refused there. */
  #sendSecret(secret: string): ClientAuth {
    const basic = ClientSecretBasic(secret);
    const post = ClientSecretPost(secret);
    return (server, ...rest) => {
      const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const isPost = this.#usesPost || !offered.includes('client_secret_basic');
      (isPost ? post : basic)(server, ...rest);
    };
  }

  /** Issuers may offer several methods for the client secret, and accept only one for a client. Throws IssuerError. */
  async #authenticate<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ResponseBodyError) || error.error !== 'invalid_client') translateError(error);
      this.#usesPost = !this.#usesPost;
      return await call().catch(translateError);
    }
  }
}

/** Browsers are sent there, so it must not be a script URL. Throws IssuerError. */
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
