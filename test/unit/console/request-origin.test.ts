import { expect } from 'chai';
import { describeOrigin } from '../../../console/server/request-origin.ts';

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
