/** Signing in by OIDC: a real provider, an API server that trusts it. */
import { expect } from 'chai';
import { pino } from 'pino';
import { CLIENT, startIssuer } from '../../support/oidc-issuer.ts';
import { keysOf } from './console-harness.ts';
import { useOIDC, userOf } from './oidc-fixture.ts';

describe('signing in to the console by OIDC', () => {
  const use = useOIDC();
  afterEach(() => {
    use.issuer.misbehave = () => false;
  });
  const errorOf = async (browser: ReturnType<typeof use.browser>): Promise<string | null> =>
    (await browser.call('GET', '/api/sign-in')).body.error;

  it('signs a member in as the API server names them, and returns to the page where they were', async () => {
    const namespace = await use.makeMember('ada');
    const browser = use.browser();
    expect((await browser.call('GET', '/api/sign-in')).body).to.deep.equal({
      oidc: { name: null },
      error: null,
    });
    const page = await browser.signIn('ada', `/${namespace}/requests?model=a&x=%2F`, namespace);
    expect([page.status, page.location]).to.deep.equal([
      302,
      `${use.origin}/${namespace}/requests?model=a&x=%2F`,
    ]);
    const session = await browser.session();
    expect(session.status, JSON.stringify(session.body)).to.equal(200);
    expect([session.body.user, session.body.namespaces]).to.deep.equal([userOf('ada'), [namespace]]);
    // By its refresh token it lasts longer than its ID token.
    expect(Date.parse(session.body.expiresAt) - Date.now()).to.be.greaterThan(7.9 * 3_600_000);
    const base = `/api/namespaces/${namespace}`;
    expect((await browser.call('GET', `${base}/deployments`)).body).to.deep.equal([]);
    expect((await browser.call('POST', `${base}/keys`, { name: 'first' })).status).to.equal(201);
  });

  it('asks for a code with PKCE, a state and a nonce, and for the right scopes', async () => {
    const { body } = await use.browser().call('POST', '/api/oidc', { returnTo: '/' });
    const query = Object.fromEntries(new URL(body.url).searchParams);
    expect(query).to.include({
      client_id: 'berth-console',
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      redirect_uri: `${use.origin}/api/oidc/callback`,
    });
    for (const secret of [query.state, query.nonce, query.code_challenge])
      expect(secret).to.match(/^[\w-]{43}$/);
  });

  it('keeps what the way back needs in a cookie of its own that tells nothing', async () => {
    const browser = use.browser();
    const answer = await browser.open('/api/oidc', {
      method: 'POST',
      body: JSON.stringify({ returnTo: '/team/keys' }),
      headers: { origin: use.origin, 'x-berth-console': '1', 'content-type': 'application/json' },
    });
    const nonce = new URL(JSON.parse(answer.text).url).searchParams.get('nonce')!;
    expect(answer.cookies).to.have.length(1);
    expect(answer.cookies[0]).to.match(
      /^__Host-berth-sign-in=[\w-]+; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/,
    );
    const value = Buffer.from(answer.cookies[0]!.split(/[=;]/)[1]!, 'base64url').toString('latin1');
    expect(value).to.not.contain(nonce).and.not.contain('/team/keys');
  });

  it('has a session that is new with each sign-in, in a cookie as that of a token', async () => {
    const namespace = await use.makeMember('bea');
    const browser = use.browser();
    browser.cookies.set('127.0.0.1 __Host-berth', 'A'.repeat(43));
    const { cookies } = await browser.signIn('bea', '/', namespace);
    const set = cookies.find((cookie) => cookie.startsWith('__Host-berth='))!;
    expect(set).to.match(/^__Host-berth=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/);
    expect(set).to.not.contain('A'.repeat(43));
    const [first] = [browser.cookies.get('127.0.0.1 __Host-berth')];
    await browser.signIn('bea', '/', namespace);
    expect(browser.cookies.get('127.0.0.1 __Host-berth')).to.not.equal(first);
    expect(browser.cookies.has('127.0.0.1 __Host-berth-sign-in')).to.equal(false);
  });

  it('leaves no token readable in Redis', async () => {
    const namespace = await use.makeMember('cid');
    await use.browser().signIn('cid', '/', namespace);
    for (const key of await keysOf(use.console, 'console:session:*')) {
      const value = Buffer.from((await use.console.redis.redis.get(key))!, 'base64url').toString('latin1');
      expect(value).to.not.match(/eyJ|refreshToken|@example/);
    }
  });

  it('does not let a sign-in end in another browser than it began in', async () => {
    await use.makeMember('dan');
    const attacker = use.browser();
    const form = await attacker.begin('/');
    const stop = await attacker.submit(form, { login: 'dan' }, { follows: false });
    const callback = stop.location!;
    // Cookies of a user who follows the attacker's link, without and with a sign-in of their own in progress.
    const victim = use.browser();
    for (const prepare of [async () => {}, () => victim.begin('/')]) {
      await prepare();
      const page = await victim.open(callback);
      expect([page.status, page.location]).to.deep.equal([302, `${use.origin}/`]);
      expect(await errorOf(victim)).to.match(/started in another browser/);
      expect((await victim.session()).status).to.equal(401);
    }
    // It is shown once.
    expect(await errorOf(victim)).to.equal(null);
  });

  it('uses an answer of the issuer once', async () => {
    const namespace = await use.makeMember('eve');
    const browser = use.browser();
    const form = await browser.begin('/', namespace);
    const { location } = await browser.submit(form, { login: 'eve' }, { follows: false });
    const kept = browser.cookies.get('127.0.0.1 __Host-berth-sign-in')!;
    await browser.open(location!);
    expect((await browser.session()).status).to.equal(200);
    browser.cookies.set('127.0.0.1 __Host-berth-sign-in', kept);
    browser.cookies.delete('127.0.0.1 __Host-berth');
    await browser.open(location!);
    expect(await errorOf(browser)).to.match(/rejected the sign-in \(invalid_grant.*Try again/);
    expect((await browser.session()).status).to.equal(401);
  });

  it('says what the issuer says where it refuses the user', async () => {
    const browser = use.browser();
    const form = await browser.begin('/team/keys?filter=a');
    const page = await browser.submit(form, { cancel: '1' });
    expect(page.location).to.equal(`${use.origin}/team/keys?filter=a`);
    expect(await errorOf(browser)).to.equal(
      'The identity provider denied the sign-in: the user is not assigned to this application.',
    );
  });

  it('says so where the user may do nothing', async () => {
    const browser = use.browser();
    await browser.signIn('nobody', '/');
    expect(await errorOf(browser)).to.match(
      /User "oidc:nobody@example.com" cannot list .* in any known namespace/,
    );
    expect((await browser.session()).status).to.equal(401);
  });

  for (const returnTo of [
    '//evil.example/',
    '/\\evil.example',
    'https://evil.example/',
    '/x/..//evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/api/session',
  ])
    it(`returns to no other site: ${JSON.stringify(returnTo)}`, async () => {
      const browser = use.browser();
      const form = await browser.begin(returnTo);
      const { location } = await browser.submit(form, { cancel: '1' });
      expect(new URL(location!).origin).to.equal(use.origin);
      expect(new URL(location!).pathname).to.not.match(/^\/(api|[/\\])/);
    });

  it("begins a sign-in from the console's own page only", async () => {
    const browser = use.browser();
    const json = { method: 'POST', body: '{"returnTo":"/"}' };
    for (const headers of [
      { origin: 'https://evil.example', 'x-berth-console': '1', 'content-type': 'application/json' },
      { origin: use.origin, 'content-type': 'application/json' },
    ])
      expect((await browser.open('/api/oidc', { ...json, headers })).status).to.equal(403);
  });

  it('logs who signed in and who was refused, and no codes, tokens or secrets', async () => {
    const namespace = await use.makeMember('fay');
    const written: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => void written.push(line) });
    const console = await use.start(0, {}, log);
    const browser = use.browser(use.origins[0]);
    const refused = await browser.begin('/');
    await browser.submit(refused, { cancel: '1' });
    const form = await browser.begin('/', namespace);
    const { location } = await browser.submit(form, { login: 'fay' }, { follows: false });
    await browser.open(location!);
    const signedOut = await browser.call('DELETE', '/api/session');
    const text = written.join('');
    const query = new URL(location!).searchParams;
    const hint = new URL(signedOut.body.url).searchParams.get('id_token_hint')!;
    for (const secret of [query.get('code')!, query.get('state')!, hint, CLIENT.secret])
      expect(text).to.not.contain(secret);
    const lines = written.map((line) => JSON.parse(line)).filter(({ audit }) => audit);
    expect(lines.map(({ action, user, status, reason }) => [action, user, status, reason])).to.deep.equal([
      [
        'sign-in',
        undefined,
        403,
        'The identity provider denied the sign-in: the user is not assigned to this application.',
      ],
      ['sign-in', userOf('fay'), 302, undefined],
      ['sign-out', userOf('fay'), 200, undefined],
    ]);
    const metrics = await (await fetch(`http://127.0.0.1:${console.metricsPort}/metrics`)).text();
    expect(metrics).to.contain('berth_console_sign_ins_total{outcome="ok"} 1');
    expect(metrics).to.contain('berth_console_sign_ins_total{outcome="refused"} 1');
    await console.stop();
  });

  it('names the fault of the set-up where the client secret is wrong', async () => {
    const console = await use.start(0, { oidc: use.settings({ clientSecret: 'wrong', name: 'Example ID' }) });
    const browser = use.browser(use.origins[0]);
    expect((await browser.call('GET', '/api/sign-in')).body.oidc).to.deep.equal({ name: 'Example ID' });
    await browser.signIn('ada', '/');
    expect(await errorOf(browser)).to.match(
      /^Single sign-on is misconfigured: invalid_client.*Contact your administrator/,
    );
    await console.stop();
  });

  const WAYS: [what: string, isRefused: (authorization: string | undefined) => boolean][] = [
    ['in a header', (authorization) => authorization === undefined],
    ['in the body', (authorization) => authorization !== undefined],
  ];
  for (const [what, isRefused] of WAYS)
    it(`sends the client secret as the issuer wants it: ${what}`, async () => {
      const namespace = await use.makeMember('gil');
      use.issuer.misbehave = ({ url, headers }, res) => {
        if (url !== '/token' || !isRefused(headers.authorization)) return false;
        res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}');
        return true;
      };
      const browser = use.browser();
      await browser.signIn('gil', '/', namespace);
      expect((await browser.session()).status).to.equal(200);
    });

  it('says so where the API server does not trust the issuer', async () => {
    const other = await startIssuer({ origins: use.origins });
    const console = await use.start(1, {
      oidc: use.settings({ issuer: other.url, ca: other.ca, name: 'Other ID' }),
    });
    const browser = use.browser(use.origins[1], other.ca);
    await browser.signIn('ada', '/');
    expect(await errorOf(browser)).to.equal(
      'Other ID signed you in, but the Kubernetes API server rejected the ID token. Ask a cluster administrator to configure the API server for this issuer and the client ID "berth-console".',
    );
    await console.stop();
    await other.stop();
  });
});
