import { expect } from 'chai';
import { findLinkPlace } from '../../../../gateway/jobs/link-place.ts';

const BASE = { name: 'picture', baseURL: 'https://picture.example.com/v1' };

interface Case {
  what: string;
  headers?: Record<string, string>;
  baseURL?: string;
  origin: string;
}

const CASES: Case[] = [
  { what: 'the public address, where no client asks', origin: 'https://picture.example.com' },
  {
    what: 'the public address with its scheme, behind a proxy that ends TLS and does not say so',
    headers: { host: 'picture.example.com' },
    origin: 'https://picture.example.com',
  },
  {
    what: 'the port of its own under make run',
    baseURL: 'http://127.0.0.1:8103/v1',
    headers: { host: '127.0.0.1:8103' },
    origin: 'http://127.0.0.1:8103',
  },
  {
    what: 'the name in the cluster by which a client asks',
    headers: { host: 'picture.team.svc.cluster.local' },
    origin: 'http://picture.team.svc.cluster.local',
  },
  {
    what: 'another public name, with the scheme that a proxy tells',
    headers: { host: 'images.example.org', 'x-forwarded-proto': 'https, http' },
    origin: 'https://images.example.org',
  },
  {
    what: 'the public address, where the host is none',
    headers: { host: 'a/b@c' },
    origin: 'https://picture.example.com',
  },
  ...['x'.repeat(5_000), '\u00fc.'.repeat(100)].map((host) => ({
    what: `the public address, where the host of ${host.length} characters is too long for one`,
    headers: { host },
    origin: 'https://picture.example.com',
  })),
];

describe('where links of an endpoint lead', () => {
  for (const { what, headers, origin, baseURL = BASE.baseURL } of CASES)
    it(`is ${what}`, () =>
      expect(findLinkPlace({ ...BASE, baseURL }, headers)).to.deep.equal({
        deployment: 'picture',
        origin,
        links: undefined,
      }));

  it('is nowhere while no address is known', () =>
    expect(findLinkPlace({ name: 'picture' })).to.equal(undefined));

  it('is told with what the deployment asks for', () =>
    expect(findLinkPlace({ ...BASE, links: 'Store' })?.links).to.equal('Store'));
});
