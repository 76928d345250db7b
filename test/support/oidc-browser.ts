/** The part of a browser that a sign-in by OIDC needs: cookies, redirects, and the issuer's form. */
import { Agent, request } from 'undici';
import { CSRF_HEADER } from '../../console/api.ts';

export interface Page {
  url: URL;
  status: number;
  /** Values of Set-Cookie. */
  cookies: string[];
  text: string;
  location: string | null;
}

const MAX_REDIRECTS = 12;

export class OIDCBrowser {
  readonly #origin: string;
  readonly #agent: Agent;
  /** By host and name: cookies do not depend on the port, but both sites have different host names. */
  readonly cookies = new Map<string, string>();

  /** `origin`: of the console; `ca`: of the issuer. */
  constructor(origin: string, ca: string) {
    this.#origin = origin;
    this.#agent = new Agent({ connect: { ca } });
  }

  async open(url: string, { method = 'GET', body = '', headers = {} } = {}): Promise<Page> {
    const target = new URL(url, this.#origin);
    const answer = await request(target, {
      method: method as 'GET',
      dispatcher: this.#agent,
      headers: { cookie: this.#cookiesOf(target), ...headers },
      body: body || null,
    });
    const cookies = [answer.headers['set-cookie'] ?? []].flat();
    for (const cookie of cookies) this.#keep(target, cookie);
    const location = answer.headers.location;
    return {
      url: target,
      status: answer.statusCode,
      cookies,
      text: await answer.body.text(),
      location: location === undefined ? null : new URL(String(location), target).href,
    };
  }

  /** A call of the console's page. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test checks
  async call(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
    const json = body === undefined ? '' : JSON.stringify(body);
    const headers = { origin: this.#origin, [CSRF_HEADER]: '1', 'content-type': 'application/json' };
    const { status, text } = await this.open(path, { method, body: json, headers });
    return { status, body: text === '' ? null : JSON.parse(text) };
  }

  /** Follows redirects up to the first page that is none, or for which `isEnd` is true. */
  async follow(url: string, isEnd: (page: Page) => boolean = () => false): Promise<Page> {
    for (let page = await this.open(url), count = 0; ; count++) {
      if (page.location === null || isEnd(page)) return page;
      if (count > MAX_REDIRECTS) throw new Error(`too many redirects, the last to ${page.location}`);
      page = await this.open(page.location);
    }
  }

  /** Returns the page with the issuer's form. */
  async begin(returnTo = '/', namespace?: string): Promise<Page> {
    const { status, body } = await this.call('POST', '/api/oidc', { returnTo, namespace });
    if (status !== 200) throw new Error(`sign-in did not begin: ${status} ${JSON.stringify(body)}`);
    return this.follow(body.url, isCallback);
  }

  /** Submits the issuer's form; returns the console's page after it, or the first redirect if `follows` is false. */
  async submit(form: Page, fields: Record<string, string>, { follows = true } = {}): Promise<Page> {
    const answer = await this.open(form.url.href, {
      method: 'POST',
      body: String(new URLSearchParams(fields)),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    if (answer.location === null) throw new Error(`the issuer's form led nowhere: ${answer.text}`);
    const last = await this.follow(answer.location, (page) => isLeadingToCallback(page) || isCallback(page));
    return follows && last.location !== null && isLeadingToCallback(last) ? this.open(last.location) : last;
  }

  /** As a user with this name; returns the callback's response. */
  async signIn(login: string, returnTo = '/', namespace?: string): Promise<Page> {
    const page = await this.begin(returnTo, namespace);
    return isCallback(page) ? page : this.submit(page, { login });
  }

  /** Status 401 if there is none. */
  session = () => this.call('GET', '/api/session');

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #keep({ hostname }: URL, cookie: string): void {
    const [pair = ''] = cookie.split(';');
    const name = `${hostname} ${pair.slice(0, pair.indexOf('='))}`;
    const isGone = /max-age=0|expires=thu, 01 jan 1970/i.test(cookie);
    if (isGone) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(pair.indexOf('=') + 1));
  }

  #cookiesOf({ hostname }: URL): string {
    return [...this.cookies]
      .filter(([name]) => name.startsWith(`${hostname} `))
      .map(([name, value]) => `${name.split(' ')[1]}=${value}`)
      .join('; ');
  }
}

const CALLBACK = '/api/oidc/callback';
const isCallback = ({ url }: Page): boolean => url.pathname === CALLBACK;
const isLeadingToCallback = ({ location }: Page): boolean =>
  location !== null && new URL(location).pathname === CALLBACK;
