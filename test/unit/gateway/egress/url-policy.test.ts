import { expect } from 'chai';
import { createAddressPolicy } from '../../../../gateway/egress/address-policy.ts';
import { EgressError, type EgressErrorKind } from '../../../../gateway/egress/egress-error.ts';
import { parseEgressURL } from '../../../../gateway/egress/url-policy.ts';
import { expectLinear } from '../../../support/growth.ts';

const PUBLIC = { policy: createAddressPolicy({ allow: [], deny: [] }), plainHTTP: false };

describe('the URL policy', () => {
  it('takes time in proportion to a text, whatever is in it', () => {
    for (const unit of ['a', ':', '/a', '\\', 'a:', '\t', '@/'])
      expectLinear((length) => {
        try {
          parseEgressURL(`https:${unit.repeat(length / unit.length)}`, PUBLIC);
        } catch {}
      }, unit);
  });

  const refused: [EgressErrorKind, string[]][] = [
    [
      'url',
      [
        '',
        'x',
        '//example.com/a.png',
        'https://',
        'https://a b/',
        'https://1.2.3.4.5/',
        'https://[fe80::1%25eth0]/',
      ],
    ],
    [
      'url',
      ['https://example.com:99999/', 'https://[127.0.0.1]/', `https://example.com/${'a'.repeat(9_000)}`],
    ],
    ['scheme', ['http://example.com/', 'http://127.0.0.1/', 'ftp://example.com/', 'file:///etc/passwd']],
    [
      'scheme',
      ['gopher://127.0.0.1:6379/', 'javascript:alert(1)', 'blob:https://example.com/1', 'ws://example.com/'],
    ],
    [
      'userinfo',
      [
        'https://a@example.com/',
        'https://a:b@example.com/',
        'https://:b@example.com/',
        'https://@example.com/',
      ],
    ],
    ['userinfo', ['https://example.com@127.0.0.1/', 'https://example.com:443@169.254.169.254/']],
    [
      'port',
      [
        'https://example.com:80/',
        'https://example.com:22/',
        'https://example.com:0/',
        'https://example.com:1023/',
      ],
    ],
    ['address', ['https://127.0.0.1/', 'https://127.0.0.1./', 'https://127.1/', 'https://2130706433/']],
    ['address', ['https://0x7f000001/', 'https://0x7f.1/', 'https://0177.0.0.1/', 'https://017700000001/']],
    [
      'address',
      ['https://0/', 'https://0.0.0.0/', 'https://10.1/', 'https://169.254.169.254/latest/meta-data/'],
    ],
    [
      'address',
      ['https://①②⑦.⓪.⓪.①/', 'https://%31%32%37.0.0.1/', 'https://１２７.0.0.1/', 'https://127。0。0。1/'],
    ],
    ['address', ['https:127.0.0.1', 'https:\\\\127.0.0.1\\', ' https://127.0.0.1/', 'https://12\t7.0.0.1/']],
    [
      'address',
      ['https://[::1]/', 'https://[::]/', 'https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/'],
    ],
    [
      'address',
      ['https://[0:0:0:0:0:ffff:a9fe:a9fe]/', 'https://[64:ff9b::7f00:1]/', 'https://[2002:7f00:1::]/'],
    ],
    [
      'address',
      ['https://[2001:0:7f00:1::]/', 'https://[fe80::1]/', 'https://[fd00:ec2::254]/', 'https://[ff02::1]/'],
    ],
  ];
  for (const [kind, urls] of refused)
    for (const url of urls)
      it(`refuses ${JSON.stringify(url.slice(0, 60))}: ${kind}`, () => {
        expect(kindOf(() => parseEgressURL(url, PUBLIC))).to.equal(kind);
      });

  const taken: [string, string][] = [
    ['https://example.com', 'https://example.com/'],
    ['https://example.com:443/a?b=c@d#e', 'https://example.com/a?b=c@d'],
    ['https://EXAMPLE.com./a@b', 'https://example.com/a@b'],
    ['https://example.com:8443/', 'https://example.com:8443/'],
    ['https://例え.jp/', 'https://xn--r8jz45g.jp/'],
    ['https://ｅxample.com/', 'https://example.com/'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
  ];
  for (const [url, dialed] of taken)
    it(`takes ${url} as ${dialed}`, () => {
      expect(parseEgressURL(url, PUBLIC).href).to.equal(dialed);
    });

  it('treats an IDN homograph as the name that it is', () => {
    const { hostname } = parseEgressURL('https://аpple.com/', PUBLIC);
    expect(hostname).to.match(/^xn--/);
  });

  describe('with an allowed range', () => {
    const policy = createAddressPolicy({ allow: ['127.0.0.0/8'], deny: [] });
    const cases: [string, boolean, EgressErrorKind | null][] = [
      ['https://127.0.0.1:8443/', false, null],
      ['https://2130706433/', false, null],
      ['http://127.0.0.1/', false, 'scheme'],
      ['http://127.0.0.1/', true, null],
      ['http://127.0.0.1:81/', true, 'port'],
      ['http://8.8.8.8/', true, 'scheme'],
      ['http://10.0.0.1/', true, 'address'],
      ['http://[::ffff:127.0.0.1]/', true, 'address'],
    ];
    for (const [url, plainHTTP, kind] of cases)
      it(`${kind ? `refuses ${url} (${kind})` : `takes ${url}`} ${plainHTTP ? 'with' : 'without'} plain http`, () => {
        expect(kindOf(() => parseEgressURL(url, { policy, plainHTTP }))).to.equal(kind);
      });
  });

  it('reports the same for a private address and a name that does not exist', () => {
    expect(new EgressError('address').message).to.equal(new EgressError('unresolvable').message);
  });
});

function kindOf(act: () => unknown): EgressErrorKind | null {
  try {
    act();
    return null;
  } catch (error) {
    return (error as EgressError).kind;
  }
}
