/** Errors in a receiver's URL that the page reports without asking the server. */
import { expect } from 'chai';
import { findURLError } from '../../../console/web/webhooks/url-error.ts';

const WRONG: [string, RegExp][] = [
  ['hook', /^Enter a URL, e\.g\. /],
  ['https://', /^Enter a URL, e\.g\. /],
  ['ftp://example.com/', /https:\/\//],
  ['http://example.com/', /https:\/\//],
  ['https://me:secret@example.com/', /username/],
  ['https://localhost/', /public/],
  ['https://receiver/', /public/],
  ['https://127.0.0.1/', /public/],
  ['https://2130706433/', /public/],
  ['https://0x7f.1/', /public/],
  ['https://10.1.2.3/', /public/],
  ['https://100.64.0.1/', /public/],
  ['https://169.254.169.254/', /public/],
  ['https://172.31.0.1/', /public/],
  ['https://192.168.1.1/', /public/],
  ['https://224.0.0.1/', /public/],
  ['https://[::1]/', /public/],
  ['https://[fd00::1]/', /public/],
  ['https://[fe80::1]/', /public/],
  ['https://[::ffff:10.0.0.1]/', /public/],
];
const FINE = [
  'https://example.com/hook',
  ' https://example.com:8443/',
  'https://8.8.8.8/',
  'https://[2606:4700::1]/',
];

describe('the URL of a webhook, in the form', () => {
  for (const [url, words] of WRONG)
    it(`finds fault with ${url}`, () => expect(findURLError(url, false)).to.match(words));

  for (const url of FINE) it(`lets ${url} pass`, () => expect(findURLError(url, false)).to.equal(null));

  it('lets receivers on the same machine pass where the console is reached over plain HTTP', () => {
    expect(findURLError('http://127.0.0.1:9000/', true)).to.equal(null);
    expect(findURLError('ftp://127.0.0.1/', true)).to.match(/https/);
  });
});
