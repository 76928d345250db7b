import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  readFrontEnvironment,
  readRole,
  readSidecarEnvironment,
} from '../../../../gateway/environment/environment.ts';
import { EnvironmentError } from '../../../../kit/environment.ts';

describe('the environment of a gateway', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-environment-'));
    writeFileSync(join(folder, 'config.json'), '{"v":1}\n');
    writeFileSync(join(folder, 'peer-token'), 'secret\n');
    writeFileSync(join(folder, 'redis-username'), 'ws:a');
    writeFileSync(join(folder, 'redis-password'), 'pw');
    writeFileSync(join(folder, 'master-key'), 'master');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const sidecar = () => ({
    GATEWAY_REDIS_URL: 'redis:6379',
    GATEWAY_SECRET_PATH: folder,
    GATEWAY_ENGINE_URL: 'http://127.0.0.1:8000/',
    GATEWAY_DRAIN_TOKEN: 'drain',
  });

  it('reads a sidecar’s variables and the files of its Secret', () => {
    const environment = readSidecarEnvironment(sidecar());
    expect(environment).to.include({
      configText: '{"v":1}',
      peerToken: 'secret',
      redisUsername: 'ws:a',
      redisPassword: 'pw',
      engineURL: 'http://127.0.0.1:8000',
      engineHealthPath: '/health',
      httpPort: 8080,
      drainTimeoutMs: 180_000,
    });
  });

  it('reads where tenants’ URLs may lead; only to public addresses by default', () => {
    expect(readSidecarEnvironment(sidecar()).egress).to.deep.equal({ allow: [], deny: [], plainHTTP: false });
    const egress = {
      GATEWAY_EGRESS_ALLOW: '127.0.0.0/8, ::1,',
      GATEWAY_EGRESS_DENY: '203.0.114.0/24',
      GATEWAY_EGRESS_PLAIN_HTTP: 'true',
    };
    expect(readSidecarEnvironment({ ...sidecar(), ...egress }).egress).to.deep.equal({
      allow: ['127.0.0.0/8', '::1'],
      deny: ['203.0.114.0/24'],
      plainHTTP: true,
    });
  });

  it('traces nothing without an endpoint, and a tenth with one', () => {
    const readTracing = (more: object) => readSidecarEnvironment({ ...sidecar(), ...more }).tracing;
    expect(readTracing({ GATEWAY_TRACING_RATIO: '1' })).to.equal(null);
    const endpoint = 'http://collector:4318';
    const GATEWAY_TRACING_ENDPOINT = `${endpoint}/`;
    expect(readTracing({ GATEWAY_TRACING_ENDPOINT })).to.deep.equal({ endpoint, sampleRatio: 0.1 });
    for (const [text, sampleRatio] of [
      ['0', 0],
      ['1', 1],
      ['0.05', 0.05],
      ['1e-05', 1e-5],
    ] as const)
      expect(readTracing({ GATEWAY_TRACING_ENDPOINT, GATEWAY_TRACING_RATIO: text })).to.include({
        sampleRatio,
      });
  });

  const wrong: [string, Record<string, string | undefined>, RegExp][] = [
    ['no Redis', { GATEWAY_REDIS_URL: '' }, /GATEWAY_REDIS_URL must be set/],
    ['no engine', { GATEWAY_ENGINE_URL: undefined }, /GATEWAY_ENGINE_URL must be set/],
    [
      'an engine without a scheme',
      { GATEWAY_ENGINE_URL: '127.0.0.1:8000' },
      /GATEWAY_ENGINE_URL must be an origin/,
    ],
    ['a port that is none', { GATEWAY_HTTP_PORT: '80a' }, /GATEWAY_HTTP_PORT must be a port/],
    ['a port out of range', { GATEWAY_ADMIN_PORT: '70000' }, /GATEWAY_ADMIN_PORT must be a port/],
    [
      'a ratio that is none',
      { GATEWAY_TRACING_RATIO: '1.5' },
      /GATEWAY_TRACING_RATIO must be a number from 0 to 1/,
    ],
    ['a log level that is none', { GATEWAY_LOG_LEVEL: 'loud' }, /GATEWAY_LOG_LEVEL must be one of/],
    [
      'an egress range that is none',
      { GATEWAY_EGRESS_ALLOW: '10.0.0.0/8, 10/8' },
      /GATEWAY_EGRESS_ALLOW: "10\/8" is no CIDR/,
    ],
    [
      'an egress flag that is none',
      { GATEWAY_EGRESS_PLAIN_HTTP: 'yes' },
      /GATEWAY_EGRESS_PLAIN_HTTP must be true or false/,
    ],
    ['a health path without a slash', { GATEWAY_ENGINE_HEALTH_PATH: 'health' }, /must begin with "\/"/],
    [
      'a Secret that is not mounted',
      { GATEWAY_SECRET_PATH: '/nowhere' },
      /cannot read \/nowhere\/config.json/,
    ],
  ];
  for (const [what, variables, message] of wrong)
    it(`says what is wrong: ${what}`, () => {
      expect(() => readSidecarEnvironment({ ...sidecar(), ...variables })).to.throw(
        EnvironmentError,
        message,
      );
    });

  it('refuses an unknown role and names the known ones', () => {
    expect(() => readRole({ GATEWAY_ROLE: 'back' })).to.throw(/sidecar, front, not "back"/);
  });

  it('takes the front’s Redis user from its Secret', () => {
    const environment = readFrontEnvironment({
      GATEWAY_REDIS_URL: 'redis:6379',
      GATEWAY_SECRET_PATH: folder,
    });
    expect(environment).to.include({ redisUsername: 'ws:a', redisPassword: 'pw' });
  });

  it('takes the front’s Redis user from variables', () => {
    const plain = join(folder, 'plain');
    mkdirSync(plain);
    writeFileSync(join(plain, 'master-key'), 'master');
    const environment = readFrontEnvironment({
      GATEWAY_REDIS_URL: 'redis:6379',
      GATEWAY_SECRET_PATH: plain,
      GATEWAY_REDIS_USERNAME: 'front',
      GATEWAY_REDIS_PASSWORD: 'pw',
    });
    expect(environment).to.include({ redisUsername: 'front', redisPassword: 'pw', replicaPort: 8080 });
  });

  const front = () => ({ GATEWAY_REDIS_URL: 'redis:6379', GATEWAY_SECRET_PATH: folder });
  const bucket = () => {
    writeFileSync(join(folder, 's3-access-key-id'), 'id\n');
    writeFileSync(join(folder, 's3-secret-access-key'), 'key\n');
    return { ...front(), GATEWAY_S3_BUCKET: 'results' };
  };

  it('knows of no managed bucket unless one is named', () => {
    expect(readFrontEnvironment(front()).storage).to.include({ masterKey: 'master', bucket: null });
  });

  it('reads the managed bucket with the keys of its Secret; AWS by default', () => {
    const { storage } = readFrontEnvironment({ ...bucket(), GATEWAY_S3_ENDPOINT: '' });
    expect(storage.bucket).to.deep.equal({
      bucket: 'results',
      endpoint: null,
      publicEndpoint: null,
      region: 'us-east-1',
      prefix: '',
      pathStyle: true,
      accessKeyId: 'id',
      secretAccessKey: 'key',
    });
  });

  it('reads a bucket of another S3', () => {
    const { storage } = readFrontEnvironment({
      ...bucket(),
      GATEWAY_S3_ENDPOINT: 'http://s3.storage:9000',
      GATEWAY_S3_PUBLIC_ENDPOINT: 'https://s3.example.com/',
      GATEWAY_S3_REGION: 'eu',
      GATEWAY_S3_PREFIX: 'berth/',
      GATEWAY_S3_PATH_STYLE: 'false',
    });
    expect(storage.bucket).to.include({
      endpoint: 'http://s3.storage:9000',
      publicEndpoint: 'https://s3.example.com',
      region: 'eu',
      prefix: 'berth/',
      pathStyle: false,
    });
  });

  it('wants keys for a bucket, and a master key', () => {
    const named = { ...front(), GATEWAY_S3_BUCKET: 'results' };
    expect(() => readFrontEnvironment(named)).to.throw(EnvironmentError, /s3-access-key-id/);
    rmSync(join(folder, 'master-key'));
    expect(() => readFrontEnvironment(front())).to.throw(EnvironmentError, /master-key/);
  });

  it('requires the token of a sidecar with a storage service', () => {
    const env = { ...sidecar(), GATEWAY_STORAGE_URL: 'http://front:8082' };
    expect(() => readSidecarEnvironment(env)).to.throw(EnvironmentError, /storage-token/);
    writeFileSync(join(folder, 'storage-token'), 'token\n');
    writeFileSync(join(folder, 'request-prefix'), '01234567\n');
    expect(readSidecarEnvironment(env).storage).to.include({
      url: 'http://front:8082',
      token: 'token',
      requestPrefix: '01234567',
    });
  });
});
