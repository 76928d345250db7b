import { expect } from 'chai';
import { createAddressPolicy } from '../../../../gateway/egress/address-policy.ts';

describe('the address policy', () => {
  const evaluate = createAddressPolicy({ allow: [], deny: [] });

  const blocked: [string, string[]][] = [
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1']],
    ['link-local', ['169.254.1.1', 'fe80::1', 'febf::1', 'fe80::1%eth0']],
    [
      'cloud metadata',
      ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
    ],
    ['carrier-grade NAT', ['100.64.0.1', '100.127.255.255']],
    ['multicast', ['224.0.0.1', '239.255.255.250', 'ff02::1', 'ff0e::1']],
    ['broadcast and reserved', ['255.255.255.255', '240.0.0.1', '4000::1', '5f00::1', '100::1']],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    ['benchmarking', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
    ['protocol assignments', ['192.0.0.1', '192.88.99.1', '192.31.196.1', '2001:20::1']],
    ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8']],
    ['IPv4-compatible', ['::127.0.0.1', '::8.8.8.8']],
    ['6to4', ['2002:7f00:1::', '2002:808:808::1']],
    ['NAT64', ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1']],
    ['Teredo', ['2001::1', '2001:0:7f00:1::']],
    ['unique local and site-local', ['fc00::1', 'fdff::1', 'fec0::1']],
    ['no address', ['', 'localhost', '1.2.3', '127.1', '0x7f000001', '[::1]', '1.2.3.4/32']],
  ];
  for (const [what, addresses] of blocked)
    for (const address of addresses)
      it(`blocks ${what}: "${address}"`, () => {
        expect(evaluate(address)).to.equal('blocked');
      });

  const open = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.255.255', '172.32.0.1'];
  for (const address of [...open, '223.255.255.255', '2606:4700::1111', '2a00:1450::1', '2001:4860::8888'])
    it(`takes ${address} for public`, () => {
      expect(evaluate(address)).to.equal('public');
    });

  it('blocks what the operator denies', () => {
    const policy = createAddressPolicy({ allow: [], deny: ['8.8.0.0/16', '2606:4700::/32', '1.1.1.1'] });
    expect(['8.8.8.8', '2606:4700::1', '1.1.1.1', '1.1.1.2', '8.9.0.1'].map(policy)).to.deep.equal([
      'blocked',
      'blocked',
      'blocked',
      'public',
      'public',
    ]);
  });

  it('allows what the operator allows, also out of what is denied', () => {
    const policy = createAddressPolicy({ allow: ['10.1.0.0/16', 'fd00::/8'], deny: ['10.0.0.0/8'] });
    expect(['10.1.2.3', '10.2.0.1', 'fd12::1', 'fc00::1'].map(policy)).to.deep.equal([
      'allowed',
      'blocked',
      'allowed',
      'blocked',
    ]);
  });

  it('does not take an allowed IPv4 range for its IPv4-mapped addresses, or all of IPv6 for IPv4', () => {
    const policy = createAddressPolicy({ allow: ['127.0.0.0/8'], deny: ['::/0'] });
    expect(policy('::ffff:127.0.0.1')).to.equal('blocked');
    expect(policy('8.8.8.8')).to.equal('public');
  });

  for (const cidr of [
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    'localhost',
    '10/8',
  ])
    it(`refuses the CIDR "${cidr}" by name`, () => {
      expect(() => createAddressPolicy({ allow: [], deny: [cidr] })).to.throw(RangeError, `"${cidr}"`);
    });
});
