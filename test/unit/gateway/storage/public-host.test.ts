import { expect } from 'chai';
import { isPublicHost } from '../../../../gateway/storage/public-host.ts';

const PUBLIC = [
  's3.amazonaws.com',
  'my-bucket.s3.eu-central-1.amazonaws.com',
  'S3.Example.COM',
  's3.example.com.',
  '52.216.0.1',
  '[2600:1f18::1]',
  'localhost.example.com',
  'internal.example.com',
  'svc.example.com',
];
const PRIVATE = [
  'localhost',
  'minio',
  'minio.localhost',
  'nas.local',
  'NAS.LOCAL.',
  's3.internal',
  'metadata.google.internal',
  's3.corp',
  'store.home.arpa',
  'minio.storage.svc',
  'minio.storage.svc.cluster.local',
  'minio.storage.svc.my-cluster.example',
  '127.0.0.1',
  '10.0.0.8',
  '172.16.4.4',
  '192.168.1.20',
  '100.64.0.1',
  '169.254.169.254',
  '0.0.0.0',
  '[::1]',
  '[fd00::1]',
  '[fe80::1]',
  '[::ffff:10.0.0.1]',
  '',
];

describe('whether clients anywhere reach a host, by its name', () => {
  for (const host of PUBLIC) it(`is so of ${host}`, () => expect(isPublicHost(host)).to.equal(true));
  for (const host of PRIVATE)
    it(`is not so of ${host || 'an empty one'}`, () => expect(isPublicHost(host)).to.equal(false));
});
