/** Sign-in, whatever the token's source: its user, the session, its cookie. */
import type { IncomingMessage } from 'node:http';
import { GROUP } from '../../../api/names.ts';
import { formatCookie } from '../http/cookies.ts';
import { ConsoleError } from '../http/error.ts';
import type { ConsoleMetrics } from '../http/metrics.ts';
import type { RequestOrigin } from '../http/request-origin.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import type { Namespaces } from '../kubernetes/namespaces.ts';
import type { ApiContext } from '../sessions/request-guards.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { SignInAttempts } from './sign-in-attempts.ts';

export interface SignInsOptions {
  kubernetes: Kubernetes;
  sessions: Sessions;
  namespaces: Namespaces;
  metrics: ConsoleMetrics;
}

export interface Credentials extends Pick<Session, 'token' | 'oidc'> {
  /** Entered by the user. */
  namespace: string | undefined;
  /** The token's namespace, if it has one. */
  tokenNamespace: string | null;
  /** When a token that is not renewed ends; Unix milliseconds. */
  endsAt: number | null;
}

export class SignIns {
  readonly #options: SignInsOptions;
  readonly #attempts = new SignInAttempts();

  constructor(options: SignInsOptions) {
    this.#options = options;
  }

  /** Throws https_required, or rate_limit_exceeded after too many failures from one address. */
  admit({ req, state }: Pick<ApiContext, 'req' | 'state'>): void {
    refusePlainHTTP(state.origin);
    const retryAfter = this.#attempts.waitSeconds(describeClient(req));
    if (retryAfter === 0) return;
    const message = `Too many failed sign-in attempts. Try again in ${retryAfter} s.`;
    throw new ConsoleError('rate_limit_exceeded', message, { retryAfter });
  }

  /** Counts a refused sign-in. */
  noteRefusal({ req }: Pick<ApiContext, 'req'>): void {
    this.#attempts.note(describeClient(req));
    this.#options.metrics.countSignIn('refused');
  }

  /**
   * Starts a session and sets its cookie. `refusal`: the error for a token that the API server does not accept. Users without any
   * visible namespace get no session. Throws ConsoleError.
   */
  async complete(
    ctx: Pick<ApiContext, 'req' | 'state' | 'append'>,
    { token, oidc, namespace, tokenNamespace, endsAt }: Credentials,
    refusal: ConsoleError,
  ): Promise<{ session: Session; names: string[] }> {
    const { kubernetes, sessions, metrics } = this.#options;
    const user = await kubernetes.readUser(token).catch((error: unknown) => {
      if (!(error instanceof KubernetesError) || error.status !== 401) throw error;
      this.noteRefusal(ctx);
      throw refusal;
    });
    const own = [namespace, tokenNamespace].filter((name) => typeof name === 'string');
    const { id, session } = await sessions.begin({ token, oidc, user, own: [...new Set(own)] }, endsAt);
    const names = await this.#listOrEnd(session, namespace);
    metrics.countSignIn('ok');
    ctx.state.session = session;
    const maxAgeSeconds = Math.floor((session.expiresAt - Date.now()) / 1_000);
    ctx.append('set-cookie', formatCookie(ctx.state.origin, 'session', { value: id, maxAgeSeconds }));
    return { session, names };
  }

  async #listOrEnd(session: Session, asked: string | undefined): Promise<string[]> {
    const { sessions, namespaces } = this.#options;
    try {
      const names = await namespaces.list(session);
      requireNamespace(names, asked, session.user);
      return names;
    } catch (error) {
      await sessions.end(session);
      throw error;
    }
  }
}

/** Includes the address from the nearest proxy, so that one client cannot block the others. */
function describeClient({ socket, headers }: IncomingMessage): string {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)!
    .trim();
  return `${socket.remoteAddress} ${forwarded}`;
}

function refusePlainHTTP({ maySignIn }: RequestOrigin): void {
  if (maySignIn) return;
  throw new ConsoleError(
    'https_required',
    `The console was opened over plain HTTP, which would expose your token. Use HTTPS or kubectl port-forward, or allow plain HTTP in the installation.`,
  );
}

/** Throws permission_denied with the reason, instead of showing an empty page. */
function requireNamespace(names: string[], asked: string | undefined, user: string): void {
  const param = 'namespace';
  const message = `User "${user}" cannot list modeldeployments.${GROUP} in`;
  if (asked !== undefined && !names.includes(asked))
    throw new ConsoleError('permission_denied', `${message} the namespace "${asked}".`, { param });
  if (names.length > 0) return;
  throw new ConsoleError('permission_denied', `${message} any known namespace. Enter your namespace.`, {
    param,
  });
}
