/** The parts of a sign-in by OIDC that need no issuer, and an issuer that hangs. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { CONSOLE_ENV } from '../../../api/console-environment.ts';
import { readEnvironment } from '../../../console/server/environment.ts';
import { IssuerConnection } from '../../../console/server/oidc/issuer-connection.ts';
import { describeIssuerError, IssuerError } from '../../../console/server/oidc/issuer-error.ts';
import { openPending, sealPending } from '../../../console/server/sign-in/pending-sign-in.ts';
import { readReturnPath } from '../../../console/server/sign-in/return-path.ts';
import { rejection } from '../../support/redis-client.ts';
import { makeCertificates } from '../../support/test-certificates.ts';

describe('the page to which a sign-in returns', () => {
  const KEPT = ['/', '/team/keys', '/team/keys?filter=a%20b&sort=-name', '/team/requests?at=//x'];
  for (const path of KEPT)
    it(`is where the user was: ${path}`, () => expect(readReturnPath(path)).to.equal(path));

  const REFUSED = [
    '',
    'team/keys',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/%0a/../..//evil.example',
    '/x/..//evil.example',
    '/./\\evil.example',
    '/\n/evil.example',
    '/\t/evil.example',
    ' //evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '/api',
    '/api/session',
    `/${'a'.repeat(2_000)}`,
    `/${'é'.repeat(500)}`,
  ];
  for (const path of REFUSED)
    it(`is the first page for ${JSON.stringify(path.slice(0, 40))}`, () =>
      expect(readReturnPath(path)).to.equal('/'));
});

describe('a sign-in on its way to the issuer', () => {
  const pending = {
    nonce: 'the-nonce',
    verifier: 'the-verifier',
    redirectURI: 'https://console.example.com/api/oidc/callback',
    returnTo: `/${'a'.repeat(1_000)}`,
    endsAt: 1_000,
  };

  it('opens with its own state, until it is too old', () => {
    const sealed = sealPending(pending, 'state');
    expect(openPending(sealed, 'state', 999)).to.deep.equal(pending);
    expect(openPending(sealed, 'state', 1_000)).to.equal(null);
    expect(openPending(sealed, 'other', 0)).to.equal(null);
    expect(openPending(sealed, '', 0)).to.equal(null);
    expect(openPending(`${sealed.slice(0, -2)}AA`, 'state', 0)).to.equal(null);
    expect(openPending('nonsense', 'state', 0)).to.equal(null);
  });

  it('fits into a cookie', () => expect(sealPending(pending, 'state').length).to.be.below(3_000));
});

describe('errors of the issuer', () => {
  it('are one bounded line, whatever the issuer says', () => {
    const words = `no\r\n<b>entry</b>\u0000 ${'x'.repeat(1_000)}`;
    const text = describeIssuerError(new IssuerError('denied', words), 'Example ID');
    expect(text).to.match(/^Example ID denied the sign-in: no <b>entry<\/b> x+\.$/);
    expect(text.length).to.be.below(260);
  });
});

describe('the settings of OIDC', () => {
  const read = (change: Record<string, string>) =>
    readEnvironment({
      [CONSOLE_ENV.kubernetesURL]: 'http://127.0.0.1:1',
      [CONSOLE_ENV.redisURL]: 'redis://127.0.0.1:1',
      ...change,
    }).oidc;

  it('are none without an issuer', () => expect(read({})).to.equal(null));

  it('have scopes that suit the API server, and no secret for a public client', () => {
    const { oidcIssuer, oidcClientId } = CONSOLE_ENV;
    expect(read({ [oidcIssuer]: 'https://id.example.com/realms/a', [oidcClientId]: 'berth' })).to.deep.equal({
      issuer: 'https://id.example.com/realms/a',
      clientId: 'berth',
      clientSecret: undefined,
      scopes: ['openid', 'email', 'profile'],
      name: null,
      ca: undefined,
    });
  });

  it('say what is wrong with them', () => {
    const { oidcIssuer, oidcScopes } = CONSOLE_ENV;
    expect(() => read({ [oidcIssuer]: 'http://id.example.com', [oidcScopes]: 'email' })).to.throw(
      `${oidcIssuer} must be an https:// URL without a query, not "http://id.example.com"\n${oidcScopes} must include openid, not only "email"\nCONSOLE_OIDC_CLIENT_ID must be set`,
    );
  });
});

describe('the connection to the issuer', () => {
  const { ca, cert, key } = makeCertificates('DNS:localhost');
  let answer: 'hang' | 'drip' | 'redirect' | 'bomb' = 'hang';
  const server = createServer({ cert, key }, (_, res) => {
    if (answer === 'redirect') res.writeHead(302, { location: 'https://localhost:1/' }).end();
    else if (answer === 'bomb') res.writeHead(200).end('x'.repeat(1_000_000));
    else if (answer === 'drip') res.writeHead(200, { 'content-type': 'application/json' }).write('{');
  });
  let url: string;
  let connection: IssuerConnection;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `https://localhost:${(server.address() as AddressInfo).port}/`;
    connection = new IssuerConnection(ca);
  });
  after(async () => {
    await connection.close();
    server.closeAllConnections();
    server.close();
  });
  const call = (timeoutMs = 10_000, to = connection) =>
    to.fetch(url, {
      method: 'GET',
      headers: {},
      body: null,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });

  for (const hanging of ['hang', 'drip'] as const)
    it(`ends with the time that the call has: ${hanging}`, async () => {
      answer = hanging;
      expect(await rejection(call(200))).to.include({ kind: 'away' });
    });

  it('reads no more than an answer may have', async () => {
    answer = 'bomb';
    expect(await rejection(call())).to.include({ kind: 'misconfigured' });
  });

  it('follows no redirect', async () => {
    answer = 'redirect';
    expect((await call()).status).to.equal(302);
  });

  it('trusts the CA that was named, and no other', async () => {
    const other = new IssuerConnection(makeCertificates('DNS:localhost').ca);
    expect(await rejection(call(10_000, other))).to.include({ kind: 'away' });
    await other.close();
  });
});
