import { expect } from 'chai';
import { describeOrigin, isOwnHost } from '../../../console/server/http/request-origin.ts';

describe('the origin of a request to the console', () => {
  const PUBLIC = 'https://console.example.com';
  type Row = [host: string, proto: string, publicURL: string | null, plain: boolean, string, boolean, string];
  const TABLE: Row[] = [
    ['localhost:8080', '', null, false, 'http://localhost:8080', true, '__Host-berth'],
    ['127.0.0.1:8080', '', null, false, 'http://127.0.0.1:8080', true, '__Host-berth'],
    ['127.9.9.9', '', null, false, 'http://127.9.9.9', true, '__Host-berth'],
    ['[::1]:8080', '', null, false, 'http://[::1]:8080', true, '__Host-berth'],
    ['console.localhost:8080', '', null, false, 'http://console.localhost:8080', true, '__Host-berth'],
    ['localhost:8080', '', PUBLIC, false, 'http://localhost:8080', true, '__Host-berth'],
    ['localhost:8080', '', null, true, 'http://localhost:8080', true, 'berth'],
    ['console.example.com', '', null, false, 'http://console.example.com', false, 'berth'],
    ['console.example.com', '', null, true, 'http://console.example.com', true, 'berth'],
    ['console.example.com', 'https', null, false, PUBLIC, true, '__Host-berth'],
    ['console.example.com', '', PUBLIC, false, PUBLIC, true, '__Host-berth'],
    ['evil.example', '', PUBLIC, false, PUBLIC, true, '__Host-berth'],
    [
      'console.example.com',
      '',
      'http://console.example.com',
      true,
      'http://console.example.com',
      true,
      'berth',
    ],
    ['localhost.evil.example', '', null, false, 'http://localhost.evil.example', false, 'berth'],
    ['127.0.0.1.evil.example', '', null, false, 'http://127.0.0.1.evil.example', false, 'berth'],
    ['', '', null, false, 'http://', false, 'berth'],
  ];
  for (const [host, forwardedProto, publicURL, plainHTTP, origin, maySignIn, name] of TABLE)
    it(`is ${origin} for ${host || 'no host'}, ${publicURL ?? 'no public URL'}${plainHTTP ? ', plain http' : ''}`, () => {
      const seen = describeOrigin({ host, forwardedProto }, { publicURL, plainHTTP });
      expect([seen.origin, seen.maySignIn, seen.cookie.name]).to.deep.equal([origin, maySignIn, name]);
      expect(seen.cookie.isSecure).to.equal(name === '__Host-berth');
    });
});

describe('the names by which the console is reached', () => {
  const PUBLIC = 'https://console.example.com';
  type Row = [listensOn: string | undefined, publicURL: string | null, own: string[], others: string[]];
  const LOCAL = [
    'localhost:8196',
    '127.0.0.1:8196',
    '127.0.0.2',
    '[::1]:8196',
    'a.localhost',
    'a.b.localhost:80',
  ];
  const REBOUND = [
    'evil.example',
    'evil.example:8196',
    'localhost.evil.example',
    '127.0.0.1.nip.io',
    'evillocalhost',
  ];
  const TABLE: Row[] = [
    ['127.0.0.1', null, LOCAL, [...REBOUND, '10.0.0.1', '', '@localhost']],
    ['localhost', null, LOCAL, REBOUND],
    ['::1', null, LOCAL, REBOUND],
    // The public origin counts whatever the host name, so that pages of other sites cannot write.
    ['127.0.0.1', PUBLIC, [...LOCAL, ...REBOUND], []],
    [undefined, null, [...LOCAL, ...REBOUND], []],
    ['10.0.0.1', null, [...LOCAL, ...REBOUND], []],
  ];
  for (const [listensOn, publicURL, own, others] of TABLE)
    it(`are ${others.length > 0 ? 'those of this machine' : 'any'} on ${listensOn ?? 'all addresses'}, ${publicURL ?? 'no public URL'}`, () => {
      const settings = { listensOn, publicURL };
      expect(own.filter((host) => !isOwnHost(host, settings))).to.deep.equal([]);
      expect(others.filter((host) => isOwnHost(host, settings))).to.deep.equal([]);
    });
});
