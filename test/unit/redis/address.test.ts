import { expect } from 'chai';
import { parseRedisAddress } from '../../../redis/address.ts';

const plain = { masterName: null, tls: false, serverName: null, username: null, password: null, db: 0 };

describe('address of Redis', () => {
  const accepted = {
    'redis-master': { ...plain, hosts: [{ host: 'redis-master', port: 6379 }] },
    '10.0.0.7:7000': { ...plain, hosts: [{ host: '10.0.0.7', port: 7000 }] },
    'redis://redis.berth.svc:6380/2': { ...plain, hosts: [{ host: 'redis.berth.svc', port: 6380 }], db: 2 },
    'rediss://[fd00::1]:6379': { ...plain, hosts: [{ host: 'fd00::1', port: 6379 }], tls: true },
    'redis://ops:p%40ss@h': {
      ...plain,
      hosts: [{ host: 'h', port: 6379 }],
      username: 'ops',
      password: 'p@ss',
    },
    'redis://:secret@h': { ...plain, hosts: [{ host: 'h', port: 6379 }], password: 'secret' },
    'rediss+sentinel://a/mymaster?servername=redis.example': {
      ...plain,
      hosts: [{ host: 'a', port: 26379 }],
      masterName: 'mymaster',
      tls: true,
      serverName: 'redis.example',
    },
    'rediss://h?servername=redis.example': {
      ...plain,
      hosts: [{ host: 'h', port: 6379 }],
      tls: true,
      serverName: 'redis.example',
    },
    'redis+sentinel://a,b:26380/mymaster': {
      ...plain,
      hosts: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      masterName: 'mymaster',
    },
  };
  for (const [text, address] of Object.entries(accepted)) {
    it(`reads ${text}`, () => expect(parseRedisAddress(text)).to.deep.equal(address));
  }

  for (const text of [
    '',
    'http://h',
    'redis://',
    'redis://h:0',
    'redis://h:70000',
    'redis://h/notanumber',
    'redis://a,,b',
    'redis+sentinel://a,b',
    'redis://h?servername=x',
    'rediss://h?servername=',
    'rediss://h?insecure=1',
    'rediss://h?servername=x&insecure=1',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () =>
      expect(() => parseRedisAddress(text)).to.throw(/Redis|redis/));
  }

  it('names no password in what it throws', () => {
    expect(() => parseRedisAddress('redis://:hunter2@h:0'))
      .to.throw()
      .with.property('message')
      .that.does.not.include('hunter2');
  });
});
