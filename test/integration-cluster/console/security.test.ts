/** Cookies, forgeries, headers, and that neither the browser nor Redis nor the log has a token in clear. */
import { expect } from 'chai';
import { pino } from 'pino';
import { pollUntil } from '../../support/poll.ts';
import { keysOf, useConsole } from './console-harness.ts';

describe("the console's defenses", () => {
  const console = useConsole();
  const SIGN_IN = '/api/session';

  it('sets a cookie that scripts and other sites cannot use, and that ends with the token', async () => {
    const { namespace, token } = await console.makeMember();
    const short = await console.makeToken(namespace, (await accountOf(token))!, 600);
    const answer = await console.person().call('POST', SIGN_IN, { token: short });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).to.match(
      /^__Host-berth=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    );
    const maxAge = Number(/Max-Age=(\d+)/.exec(cookie)![1]);
    expect(maxAge).to.be.within(500, 600);
    expect(Date.parse(answer.body.expiresAt) - Date.now()).to.be.within(500_000, 600_000);
  });

  it('ends a session after 8 hours however long the token lives', async () => {
    const { namespace, token } = await console.makeMember();
    const long = await console.makeToken(namespace, (await accountOf(token))!, 48 * 3_600);
    const answer = await console.person().call('POST', SIGN_IN, { token: long });
    expect(Date.parse(answer.body.expiresAt) - Date.now()).to.be.within(
      8 * 3_600_000 - 10_000,
      8 * 3_600_000,
    );
  });

  it('encrypts sessions in Redis, each with its own ID', async () => {
    const { token } = await console.makeMember();
    const someone = await console.signIn(token);
    const other = await console.signIn((await console.makeMember()).token);
    const keys = await keysOf(console, 'console:session:*');
    expect(keys.length).to.be.at.least(2);
    const [, payload = ''] = token.split('.');
    for (const key of keys) {
      const value = (await console.redis.redis.get(key))!;
      for (const secret of [token, payload, someone.cookie.split('=')[1]!]) {
        expect(value).to.not.contain(secret);
        expect(key).to.not.contain(secret);
      }
      expect(await console.redis.redis.pttl(key)).to.be.greaterThan(0);
    }
    // Someone who can write to Redis cannot hand one person's session to another.
    const [first, second] = await Promise.all([someone, other].map((each) => sessionKeyOf(each.cookie)));
    await console.redis.redis.set(first!, (await console.redis.redis.get(second!))!, 'PX', 60_000);
    expect((await someone.call('GET', SIGN_IN)).status).to.equal(401);
  });

  it('rejects a token that the API server does not know, without details', async () => {
    const answer = await console.person().call('POST', SIGN_IN, { token: 'not-a-token' });
    expect([answer.status, answer.body.error.code]).to.deep.equal([401, 'invalid_token']);
    expect(answer.headers.getSetCookie()).to.deep.equal([]);
  });

  it('logs who did what with which result, and no secrets', async () => {
    const written: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => void written.push(line) });
    const another = await console.start({}, log);
    const someone = console.person(`http://127.0.0.1:${another.port}`);
    const { namespace, token } = await console.makeMember();
    await someone.call('POST', SIGN_IN, { token: 'guessed-token' });
    await someone.call('POST', SIGN_IN, { token });
    const base = `/api/namespaces/${namespace}`;
    const key = await someone.call('POST', `${base}/keys`, { name: 'k' });
    const rolled = await someone.call('POST', `${base}/signing-secret/roll`, {});
    const body = { name: 's', bucket: 'results', accessKeyId: 'AKIA77', secretAccessKey: 'hidden-key' };
    await someone.call('POST', `${base}/storage-credentials`, body);
    await someone.call('GET', `${base}/keys?q=in-the-query`);
    const text = written.join('');
    const secrets = [token, token.split('.')[2]!, 'guessed-token', key.body.secret, rolled.body.secret];
    secrets.push('hidden-key', 'in-the-query', someone.cookie.split('=')[1]!);
    for (const secret of secrets) expect(text).to.not.contain(secret);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const line = lines.find(({ path, method }) => path === `${base}/keys` && method === 'POST');
    expect(line).to.include({ status: 201, msg: 'request' });
    const audited = lines.filter(({ audit }) => audit);
    expect(
      audited.map(({ action, resource, name, status }) => [action, resource, name, status]),
    ).to.deep.equal([
      ['sign-in', 'session', undefined, 401],
      ['sign-in', 'session', undefined, 200],
      ['create', 'keys', 'k', 201],
      ['roll', 'signing-secret', undefined, 200],
      ['create', 'storage-credentials', 's', 201],
    ]);
    for (const { user, namespace: where } of audited.slice(2))
      expect([user, where]).to.deep.equal([line.user, namespace]);
    expect(line.user).to.match(new RegExp(`^system:serviceaccount:${namespace}:`));
    const scraped = await (await fetch(`http://127.0.0.1:${another.metricsPort}/metrics`)).text();
    expect(scraped).to.contain('berth_console_requests_total{area="keys",method="POST",status="201"} 1');
    expect(scraped).to.contain('berth_console_sign_ins_total{outcome="refused"} 1');
    expect(scraped).to.not.contain(namespace);
  });

  it('answers a body that is far too large in place of cutting it off', async () => {
    const answer = await console.person().call('POST', SIGN_IN, { token: 'x'.repeat(20_000_000) });
    expect([answer.status, answer.body.error.code]).to.deep.equal([413, 'request_too_large']);
  });

  it('signs out: the cookie goes and what it opened is gone', async () => {
    const someone = await console.signIn((await console.makeMember()).token);
    const { cookie } = someone;
    expect((await someone.call('DELETE', SIGN_IN)).status).to.equal(204);
    expect(someone.cookie).to.equal('');
    someone.cookie = cookie;
    expect((await someone.call('GET', SIGN_IN)).status).to.equal(401);
  });

  it('ends the session when the token is taken back', async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const account = await accountOf(token);
    await console.kube('DELETE', `/api/v1/namespaces/${namespace}/serviceaccounts/${account}`);
    const path = `/api/namespaces/${namespace}/deployments`;
    let answer = await someone.call('GET', path);
    // The API server itself remembers a token for some 10 s.
    const isEnded = async () => {
      answer = await someone.call('GET', path);
      return answer.status !== 200;
    };
    await pollUntil(isEnded, 'the end of the session', 25_000, 200);
    expect([answer.status, answer.body.error.code]).to.deep.equal([401, 'not_signed_in']);
    expect(someone.cookie).to.equal('');
  }).timeout(30_000);

  const origin = () => console.origin;
  const FORGERIES: [string, () => Record<string, string>][] = [
    ['without the header that only its page sends', () => ({ 'x-berth-console': '' })],
    ["of another site's page", () => ({ origin: 'https://evil.example' })],
    ['of a page on another port', () => ({ origin: 'http://127.0.0.1:1' })],
    ['of a sandboxed page', () => ({ origin: 'null' })],
    ['without an Origin', () => ({ origin: '' })],
    ['of the same host by https', () => ({ origin: origin().replace('http:', 'https:') })],
  ];
  for (const [what, headers] of FORGERIES)
    it(`takes no write ${what}`, async () => {
      const { namespace, token } = await console.makeMember();
      const someone = await console.signIn(token);
      const writes: [string, string, unknown?][] = [
        ['POST', `/api/namespaces/${namespace}/keys`, { name: 'stolen' }],
        ['POST', `/api/namespaces/${namespace}/signing-secret/roll`],
        ['DELETE', SIGN_IN],
        ['POST', SIGN_IN, { token }],
      ];
      for (const [method, path, body] of writes) {
        const answer = await someone.call(method, path, body, headers());
        expect([path, answer.status, answer.body.error.code]).to.deep.equal([path, 403, 'forged_request']);
      }
      expect((await someone.call('GET', `/api/namespaces/${namespace}/keys`)).body).to.deep.equal([]);
    });

  it('refuses to sign in by plain http on a host that is not this machine, and says what to do', async () => {
    const { token } = await console.makeMember();
    const headers = { host: 'console.example.com', origin: 'http://console.example.com' };
    const exposed = await console.start({ host: '0.0.0.0' });
    const answer = await console.rawCall('POST', SIGN_IN, { token }, headers, exposed);
    expect([answer.status, answer.body.error.code]).to.deep.equal([403, 'https_required']);
    const plain = await console.start({ host: '0.0.0.0', plainHTTP: true });
    const allowed = await console.rawCall('POST', SIGN_IN, { token }, headers, plain);
    expect(allowed.status).to.equal(200);
    expect(allowed.headers['set-cookie']![0])
      .to.match(/^berth=/)
      .and.not.match(/Secure/);
    const behind = { ...headers, origin: 'https://console.example.com', 'x-forwarded-proto': 'https' };
    const proxied = await console.rawCall('POST', SIGN_IN, { token }, behind, exposed);
    expect(proxied.status).to.equal(200);
    expect(proxied.headers['set-cookie']![0]).to.match(/^__Host-berth=.*; Secure$/);
    expect(proxied.headers['strict-transport-security']).to.match(/^max-age=/);
  });

  it('bounds failed attempts to sign in', async () => {
    const another = await console.start();
    const someone = console.person(`http://127.0.0.1:${another.port}`);
    for (let attempt = 0; attempt < 30; attempt++)
      expect((await someone.call('POST', SIGN_IN, { token: `guess-${attempt}` })).status).to.equal(401);
    const refused = await someone.call('POST', SIGN_IN, { token: 'guess-30' });
    expect([refused.status, refused.body.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    const elsewhere = { 'x-forwarded-for': '203.0.113.1, 203.0.113.9' };
    expect((await someone.call('POST', SIGN_IN, { token: 'guess-31' }, elsewhere)).status).to.equal(401);
  });

  it('serves the page on every path of its own, each time with another nonce and a strict policy', async () => {
    const nonces = new Set<string>();
    for (const path of ['/', '/index.html', '/team/deployments', '/team/requests/llm/req_1', '/sign-in']) {
      const { status, headers, body } = await console.person().call('GET', path);
      expect([path, status, headers.get('cache-control')]).to.deep.equal([path, 200, 'no-store']);
      const policy = headers.get('content-security-policy')!;
      const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)![1]!;
      expect(body).to.contain(`content="${nonce}"`);
      expect(policy).to.match(/default-src 'none'; script-src 'self';/);
      expect(policy).to.contain("frame-ancestors 'none'").and.contain("base-uri 'none'");
      expect(policy).to.contain("form-action 'none'");
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('strict-transport-security')).to.equal(null);
      nonces.add(nonce);
    }
    expect(nonces.size).to.equal(5);
  });

  it('serves built files for ever and those that are not there not at all', async () => {
    const file = await console.person().call('GET', '/assets/index-abc123.js');
    expect([file.status, file.body]).to.deep.equal([200, 'console.log(1);']);
    expect(file.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect(file.headers.get('x-content-type-options')).to.equal('nosniff');
    expect((await console.person().call('GET', '/assets/index-gone.js')).status).to.equal(404);
    for (const path of ['/../token', '/%2e%2e/token', '/assets/..%2f..%2ftoken'])
      expect((await console.rawCall('GET', path)).text).to.not.match(/^ey/);
  });

  const MALFORMED: [string, string, unknown, number, string, string | null][] = [
    ['/api/session', 'POST', {}, 400, 'invalid_request_error', 'token'],
    ['/api/session', 'POST', { token: 'a b' }, 400, 'invalid_request_error', 'token'],
    ['/api/session', 'POST', { token: 'x', admin: true }, 400, 'invalid_request_error', 'admin'],
    ['/api/session', 'POST', '{', 400, 'invalid_json', null],
    ['/api/session', 'POST', { token: 'x'.repeat(70_000) }, 413, 'request_too_large', null],
    ['/api/session', 'PUT', {}, 405, 'method_not_allowed', null],
    ['/api/nothing', 'GET', undefined, 404, 'not_found', null],
    ['/api', 'GET', undefined, 404, 'not_found', null],
    ['/api/namespaces/x/deployments', 'GET', undefined, 401, 'not_signed_in', null],
    ['/', 'POST', undefined, 405, 'method_not_allowed', null],
  ];
  for (const [path, method, body, status, code, param] of MALFORMED)
    it(`answers ${status} ${code} to ${method} ${path} ${JSON.stringify(body)?.slice(0, 40) ?? ''}`, async () => {
      const answer = await console.person().call(method, path, body);
      expect([answer.status, answer.body.error.code, answer.body.error.param]).to.deep.equal([
        status,
        code,
        param,
      ]);
      expect(answer.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    });

  const accountOf = async (token: string) => {
    const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
    return claims['kubernetes.io'].serviceaccount.name as string | undefined;
  };
});

async function sessionKeyOf(cookie: string): Promise<string> {
  const { createHash } = await import('node:crypto');
  return `console:session:${createHash('sha256').update(cookie.split('=')[1]!).digest('hex')}`;
}
