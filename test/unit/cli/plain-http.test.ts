import { expect } from 'chai';
import { isReadableByOthers } from '../../../cli/framework/plain-http.ts';

describe('a key over plain HTTP', () => {
  it('stays on this machine or in the cluster of its pod', () => {
    for (const url of [
      'https://example.com',
      'http://localhost:1',
      'http://chat--a.localhost',
      'http://127.0.0.1',
    ])
      expect(isReadableByOthers(new URL(url), false), url).to.equal(false);
    expect(isReadableByOthers(new URL('http://chat.team.svc/v1'), true)).to.equal(false);
    for (const url of [
      'http://example.com',
      'http://10.0.0.1',
      'http://localhost.example.com',
      'http://x.svc.example.com',
      // Elsewhere a search domain may lead it anywhere.
      'http://chat.team.svc/v1',
    ])
      expect(isReadableByOthers(new URL(url), false), url).to.equal(true);
  });
});
