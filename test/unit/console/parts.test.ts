/** Pure parts of the console's server. */
import { expect } from 'chai';
import { readEnvironment } from '../../../console/server/environment.ts';
import { buildContentPolicy } from '../../../console/server/http/security-headers.ts';
import { KubernetesError, translateKubernetesError } from '../../../console/server/kubernetes/error.ts';
import { chooseCandidates } from '../../../console/server/kubernetes/namespaces.ts';
import { PromiseCache } from '../../../console/server/sessions/promise-cache.ts';
import { readTokenClaims } from '../../../console/server/sessions/token-claims.ts';
import { SignInAttempts } from '../../../console/server/sign-in/sign-in-attempts.ts';
import { EnvironmentError } from '../../../kit/environment.ts';

describe('the claims of a token', () => {
  const token = (claims: unknown) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  const TABLE: [string, string, number | null, string | null][] = [
    ['a bound one', token({ exp: 100, 'kubernetes.io': { namespace: 'team' } }), 100_000, 'team'],
    ['one of a Secret', token({ 'kubernetes.io/serviceaccount/namespace': 'team' }), null, 'team'],
    ['one of an identity provider', token({ exp: 100, email: 'a@b' }), 100_000, null],
    ['one with claims of another shape', token({ exp: 'soon', 'kubernetes.io': 7 }), null, null],
    ['one that is no JWT', 'secret', null, null],
    ['one that is no JSON', 'a.b.c', null, null],
    ['one that is no object', token(null), null, null],
  ];
  for (const [what, text, endsAt, namespace] of TABLE)
    it(`are read of ${what}`, () => {
      expect(readTokenClaims(text)).to.deep.equal({ endsAt, namespace });
    });
});

describe('the namespaces offered to a user', () => {
  const TABLE: [string, Parameters<typeof chooseCandidates>[0], string[]][] = [
    ['their own first', { own: ['m'], existing: null, published: ['a', 'm', 'z'] }, ['m', 'a', 'z']],
    ['their own, be nothing there yet', { own: ['m'], existing: null, published: [] }, ['m']],
    [
      'those with something of Berth',
      { own: [], existing: ['a', 'b', 'kube-system'], published: ['b', 'gone'] },
      ['b'],
    ],
    ['all where Berth has nothing yet', { own: [], existing: ['b', 'a'], published: [] }, ['a', 'b']],
  ];
  for (const [what, facts, expected] of TABLE)
    it(`are ${what}`, () => {
      expect(chooseCandidates(facts)).to.deep.equal(expected);
    });

  it('are 500 at most', () => {
    const published = Array.from({ length: 900 }, (_, index) => `n${index}`);
    expect(chooseCandidates({ own: ['z'], existing: null, published }))
      .to.have.length(500)
      .and.include('z');
  });
});

describe('a cache of promises', () => {
  it('asks once for what is under way, again when it is stale, and keeps no failure', async () => {
    let now = 0;
    let asked = 0;
    const cache = new PromiseCache<number>({ ttlMs: 10, maxEntries: 2, clock: () => now });
    const ask = async () => ++asked;
    expect(await Promise.all([cache.get('a', ask), cache.get('a', ask)])).to.deep.equal([1, 1]);
    now = 9;
    expect(await cache.get('a', ask)).to.equal(1);
    now = 10;
    expect(await cache.get('a', ask)).to.equal(2);
    const failure = cache.get('b', () => Promise.reject(new Error('no')));
    expect(await failure.catch((error: Error) => error.message)).to.equal('no');
    expect(await cache.get('b', ask)).to.equal(3);
  });

  it('lets the oldest go', async () => {
    const cache = new PromiseCache<string>({ ttlMs: 1_000, maxEntries: 2, clock: () => 0 });
    for (const key of ['a', 'b', 'c']) await cache.get(key, async () => `first ${key}`);
    expect(await cache.get('b', async () => 'second b')).to.equal('first b');
    expect(await cache.get('a', async () => 'second a')).to.equal('second a');
  });
});

describe('attempts to sign in', () => {
  it('wait for the end of a minute after 30 failures, each address for itself', () => {
    let now = 0;
    const attempts = new SignInAttempts(() => now);
    for (let count = 0; count < 29; count++) attempts.note('a');
    expect(attempts.waitSeconds('a')).to.equal(0);
    now = 15_000;
    attempts.note('a');
    expect([attempts.waitSeconds('a'), attempts.waitSeconds('b')]).to.deep.equal([45, 0]);
    now = 60_000;
    expect(attempts.waitSeconds('a')).to.equal(0);
    attempts.note('a');
    expect(attempts.waitSeconds('a')).to.equal(0);
  });
});

describe("what the API server refuses, in the console's envelope", () => {
  const status = (message: string, field?: string) => ({
    message,
    details: field && { causes: [{ field }] },
  });
  /** An error as API servers send it. */
  const invalid = (field: string, cause: string) => ({
    message: `APIKey.berth.dev "x" is invalid: ${field}: ${cause}`,
    reason: 'Invalid',
    details: { causes: [{ field, message: cause }] },
  });
  const TABLE: [number, unknown, string, string, string | null][] = [
    [403, status('is forbidden'), 'permission_denied', 'is forbidden', null],
    [404, status('not found'), 'not_found', 'not found', null],
    [409, status('already exists'), 'conflict', 'already exists', null],
    [422, status('spec.rpm: Invalid value', 'spec.rpm'), 'refused', 'spec.rpm: Invalid value', 'rpm'],
    [
      422,
      invalid('spec.rpm', 'Invalid value: 0: spec.rpm in body should be greater than or equal to 1'),
      'refused',
      'rpm: should be greater than or equal to 1',
      'rpm',
    ],
    [
      422,
      invalid(
        'spec.region',
        'Invalid value: "eu: \\"x\\"": must be the name of a region such as eu-central-1',
      ),
      'refused',
      'region: must be the name of a region such as eu-central-1',
      'region',
    ],
    [
      422,
      invalid('metadata.name', 'must be lowercase letters'),
      'refused',
      'name: must be lowercase letters',
      'name',
    ],
    [
      422,
      invalid('<nil>', 'Invalid value: "": "spec" must validate one and only one schema'),
      'refused',
      'APIKey.berth.dev "x" is invalid: <nil>: Invalid value: "": "spec" must validate one and only one schema',
      null,
    ],
    [
      0,
      status('connect ECONNREFUSED'),
      'temporarily_unavailable',
      'The Kubernetes API server did not respond.',
      null,
    ],
    [
      500,
      'no object',
      'temporarily_unavailable',
      'The Kubernetes API server failed (500): The API server returned HTTP 500.',
      null,
    ],
  ];
  for (const [code, body, expected, message, param] of TABLE)
    it(`is ${expected} for ${code}`, () => {
      const error = translateKubernetesError(new KubernetesError(code, body));
      expect([error.code, error.message, error.param]).to.deep.equal([expected, message, param]);
    });
});

describe('the content security policy', () => {
  it('lets a page show results of plain http only where it is served so itself', () => {
    const policy = (plainMedia: boolean) => buildContentPolicy({ nonce: 'n', plainMedia });
    expect(policy(false)).to.contain("img-src 'self' blob: data: https:;");
    expect(policy(true)).to.contain("media-src 'self' blob: data: https: http:;");
    expect(policy(true)).to.contain("script-src 'self';").and.not.contain('unsafe');
  });
});

describe("the console's environment", () => {
  const given = { CONSOLE_REDIS_URL: 'redis://r', CONSOLE_KUBERNETES_URL: 'https://k:6443/' };

  it("has defaults, and the pod's own cluster", () => {
    const inPod = {
      CONSOLE_REDIS_URL: 'redis://r',
      KUBERNETES_SERVICE_HOST: 'fd00::1',
      KUBERNETES_SERVICE_PORT: '443',
    };
    const env = readEnvironment(inPod);
    expect(env.kubernetesURL).to.equal('https://[fd00::1]:443');
    expect([env.port, env.metricsPort, env.plainHTTP, env.frontURL]).to.deep.equal([8080, 9090, false, null]);
    expect(env.tokenPath).to.equal('/var/run/secrets/kubernetes.io/serviceaccount/token');
  });

  for (const [name, value, words] of [
    ['CONSOLE_REDIS_URL', '', 'CONSOLE_REDIS_URL must be set'],
    ['CONSOLE_KUBERNETES_URL', '', 'CONSOLE_KUBERNETES_URL must be set outside a cluster'],
    ['CONSOLE_KUBERNETES_CA', '/nonexistent', 'cannot read /nonexistent'],
    ['CONSOLE_PORT', '99999', 'CONSOLE_PORT must be a port'],
    ['CONSOLE_PLAIN_HTTP', 'yes', 'CONSOLE_PLAIN_HTTP must be true or false'],
    ['CONSOLE_PUBLIC_URL', 'example.com', 'CONSOLE_PUBLIC_URL must be an origin'],
    ['CONSOLE_DOCUMENTATION_URL', 'javascript:alert(1)', 'CONSOLE_DOCUMENTATION_URL must be an http'],
  ] as const)
    it(`names ${name} where it is "${value}"`, () => {
      expect(() => readEnvironment({ ...given, [name]: value })).to.throw(EnvironmentError, words);
    });
});
