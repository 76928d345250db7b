import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { normalizeTarget } from '../../../kit/request-target.ts';

describe('the target of a request', () => {
  const read = (url: string, hosts: string[] = ['h'], more: Partial<IncomingMessage> = {}) => {
    const req = {
      url,
      method: 'GET',
      httpVersion: '1.1',
      headers: { host: hosts[0] },
      rawHeaders: hosts.flatMap((host) => ['Host', host]),
      ...more,
    } as IncomingMessage;
    const fault = normalizeTarget(req);
    return fault ?? [req.headers.host, req.url];
  };

  it('is a path with its query and a host, whatever its form', () => {
    expect(read('/v1/models?a=b')).to.deep.equal(['h', '/v1/models?a=b']);
    for (const scheme of ['http', 'HTTP', 'https', 'ws', 'WSS'])
      expect(read(`${scheme}://g:81/v1/models?a=b`)).to.deep.equal(['g:81', '/v1/models?a=b']);
    expect(read('http://g')).to.deep.equal(['g', '/']);
    expect(read('http://g?a')).to.deep.equal(['g', '/?a']);
    expect(read('*', ['h'], { method: 'OPTIONS' })).to.deep.equal(['h', '*']);
  });

  it('keeps dot segments in each form', () => {
    expect(read('/v1/../x')).to.deep.equal(['h', '/v1/../x']);
    expect(read('http://g/v1/../x')).to.deep.equal(['g', '/v1/../x']);
  });

  it('is refused where it is neither a path nor a URL of HTTP', () => {
    for (const url of [
      '*',
      'h:80',
      'v1/models',
      'ftp://g/',
      'http://',
      'http:///x',
      'http://u@g/',
      'http://g h/',
    ])
      expect(read(url), url).to.match(/^The request target must be a path/);
  });

  it('needs one host, but not in HTTP/1.0', () => {
    expect(read('/', [])).to.match(/missing/);
    expect(read('/', [], { httpVersion: '1.0' })).to.deep.equal([undefined, '/']);
    expect(read('/', ['h', 'h'])).to.match(/twice/);
    for (const host of [
      '',
      'u@h',
      'h/x',
      'h, g',
      'h g',
      '[::1',
      '::1',
      'h:x',
      'h:123456',
      '[g]',
      'h?x',
      'h\\x',
    ])
      expect(read('/', [host]), host).to.match(/^The Host header must be/);
    for (const host of [
      'h',
      'H.example.com.',
      'h_1',
      '127.0.0.1:80',
      '[::1]',
      '[::1]:80',
      '[fe80::1%eth0]',
      'h:',
    ])
      expect(read('/', [host]), host).to.deep.equal([host, '/']);
  });
});
