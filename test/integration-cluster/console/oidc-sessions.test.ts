/** What becomes of sessions by OIDC: renewal at two consoles, sign-out, an issuer that is away. */
import { expect } from 'chai';
import type { RunningConsole } from '../../../console/server/program.ts';
import type { OIDCBrowser } from '../../support/oidc-browser.ts';
import { pollUntil } from '../../support/poll.ts';
import { keysOf } from './console-harness.ts';
import { useOIDC } from './oidc-fixture.ts';

/** Renewed after two thirds of it. */
const TOKEN_SECONDS = 9;
/** Often enough to meet a renewal, without keeping the machine busy. */
const ASK_INTERVAL_MS = 100;

describe("the console's sessions by OIDC", () => {
  const use = useOIDC({ idTokenSeconds: TOKEN_SECONDS });
  const renewals = () => use.issuer.calls.filter((call) => call === 'POST /token').length;
  afterEach(() => {
    use.issuer.misbehave = () => false;
  });

  it('go on beyond their token, which one of two consoles renews', async () => {
    const namespace = await use.makeMember('ada');
    const first = use.browser();
    await first.signIn('ada', '/', namespace);
    const console = await use.start(0);
    const second = use.browser(use.origins[0]);
    // Both are one browser: the load balancer chooses.
    for (const [name, value] of first.cookies) second.cookies.set(name, value);
    const path = `/api/namespaces/${namespace}/deployments`;
    const before = renewals();
    const begun = Date.now();
    const statuses = new Set<number>();
    await pollUntil(
      async () => {
        const answers = await Promise.all(
          [first, second].flatMap((each) => [ask(each, path), ask(each, path)]),
        );
        for (const status of answers) statuses.add(status);
        return Date.now() - begun > 2 * TOKEN_SECONDS * 1_000;
      },
      'two lives of a token',
      60_000,
      ASK_INTERVAL_MS,
    );
    expect([...statuses]).to.deep.equal([200]);
    // The provider takes a refresh token once: a second use would have ended the session.
    expect(renewals() - before).to.be.within(2, 4);
    await console.stop();
  }).timeout(90_000);

  it('end when the issuer renews them no more', async () => {
    const namespace = await use.makeMember('bea');
    const browser = use.browser();
    await browser.signIn('bea', '/', namespace);
    use.issuer.misbehave = (req, res) => {
      if (req.url !== '/token') return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    await untilStatus(browser, 401);
    const { body } = await browser.session();
    expect(body.error.code).to.equal('not_signed_in');
  }).timeout(60_000);

  it('stay while the issuer is away for a while, and go on when it is back', async () => {
    const namespace = await use.makeMember('cid');
    const browser = use.browser();
    await browser.signIn('cid', '/', namespace);
    use.issuer.misbehave = (req, res) => {
      if (req.url !== '/token') return false;
      res.writeHead(503).end();
      return true;
    };
    await untilStatus(browser, 503);
    const { body } = await browser.session();
    expect(body.error.message).to.match(/identity provider is unreachable.*Retrying/);
    use.issuer.misbehave = () => false;
    await untilStatus(browser, 200);
    expect(await ask(browser, `/api/namespaces/${namespace}/deployments`)).to.equal(200);
  }).timeout(60_000);

  it('end at the issuer as well when the user signs out', async () => {
    const namespace = await use.makeMember('dan');
    const browser = use.browser();
    await browser.signIn('dan', '/', namespace);
    const keys = await keysOf(use.console, 'console:session:*');
    const { status, body } = await browser.call('DELETE', '/api/session');
    expect(status).to.equal(200);
    expect(await keysOf(use.console, 'console:session:*')).to.have.length(keys.length - 1);
    const url = new URL(body.url);
    expect(url.origin).to.equal(use.issuer.url);
    expect(url.searchParams.get('post_logout_redirect_uri')).to.equal(`${use.origin}/`);
    expect(url.searchParams.get('id_token_hint')).to.match(/^eyJ/);
    await pollUntil(
      async () => use.issuer.calls.includes('POST /token/revocation'),
      'a revoked refresh token',
    );
    expect((await browser.open(body.url)).status).to.equal(200);
  });

  it('are signed out here where the issuer has no page for it', async () => {
    const namespace = await use.makeMember('eli');
    use.issuer.misbehave = (req, res) => {
      if (!req.url?.startsWith('/.well-known/')) return false;
      const { url } = use.issuer;
      const metadata = {
        issuer: url,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return true;
    };
    const console = await use.start(1);
    const browser = use.browser(use.origins[1]);
    await browser.signIn('eli', '/', namespace);
    expect((await browser.call('DELETE', '/api/session')).status).to.equal(204);
    expect((await browser.session()).status).to.equal(401);
    await console.stop();
  });

  const ODD: [what: string, answer: string, words: RegExp][] = [
    ['of another issuer', '{"issuer":"https://other.example"}', /is misconfigured/],
    ['without end', `{"issuer":"${'x'.repeat(200_000)}"}`, /exceeds 131072 bytes/],
    ['in HTML', '<html>', /is misconfigured/],
    ['with a script for an address', '', /is misconfigured/],
  ];
  for (const [what, answer, words] of ODD)
    it(`take no answer of the issuer ${what}`, async () => {
      const { url } = use.issuer;
      const script = {
        issuer: url,
        authorization_endpoint: 'javascript:alert(1)',
        token_endpoint: `${url}/token`,
      };
      use.issuer.misbehave = (req, res) => {
        if (!req.url?.startsWith('/.well-known/')) return false;
        res.writeHead(200, { 'content-type': 'application/json' }).end(answer || JSON.stringify(script));
        return true;
      };
      await withConsole(async (browser) => {
        const { status, body } = await browser.call('POST', '/api/oidc', { returnTo: '/' });
        expect([status, body.error.code]).to.deep.equal([502, 'upstream_error']);
        expect(body.error.message).to.match(words);
      });
    });

  it('offer the token where the issuer is away', async () => {
    use.issuer.misbehave = (req, res) => {
      if (!req.url?.startsWith('/.well-known/')) return false;
      res.destroy();
      return true;
    };
    await withConsole(async (browser) => {
      const { status, body } = await browser.call('POST', '/api/oidc', { returnTo: '/' });
      expect([status, body.error.message]).to.deep.equal([
        503,
        'The identity provider is unavailable. Try again later, or sign in with a token.',
      ]);
    });
  });

  async function withConsole(test: (browser: OIDCBrowser) => Promise<void>): Promise<void> {
    const console: RunningConsole = await use.start(1);
    try {
      await test(use.browser(use.origins[1]));
    } finally {
      await console.stop();
    }
  }
});

const ask = async (browser: OIDCBrowser, path: string): Promise<number> => (await browser.open(path)).status;

const untilStatus = (browser: OIDCBrowser, status: number): Promise<unknown> =>
  pollUntil(async () => (await browser.session()).status === status, `status ${status}`, 30_000);
