import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { EnvironmentError } from '../../../kit/environment.ts';
import { parseSettings, readEnvironment } from '../../../operator/environment.ts';
import { POD_FIELD_GROUPS } from '../../../operator/resources/settings.ts';

const REQUIRED = {
  OPERATOR_NAMESPACE: 'berth-system',
  OPERATOR_DOMAIN: 'models.example.com',
  OPERATOR_FRONT_SERVICE: 'berth-front',
  OPERATOR_GATEWAY_IMAGE: 'berth/berth:1',
  OPERATOR_REDIS_URL: 'redis://redis:6379',
  OPERATOR_POD_NAME: 'operator-1',
};
const SECRETS = {
  masterKey: 'm',
  redisUsername: undefined,
  redisPassword: undefined,
  redisCAFile: '/nowhere/redis-ca.crt',
  readRedisCA: () => undefined,
};
const parse = (env: Record<string, string> = {}) => parseSettings({ ...REQUIRED, ...env }, SECRETS);

describe("the operator's environment", () => {
  it('needs no more than where it is, its domain, image, front and Redis', () => {
    expect(parse()).to.deep.include({
      routeVia: 'Direct',
      redisUsers: 'managed',
      networkPolicies: true,
      egress: { allow: [], deny: [], plainHTTP: false },
      simulatorImage: undefined,
      watchNamespaces: [],
      gatewayResources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    });
  });

  it('reads lists, JSON, ports and choices', () => {
    const settings = parse({
      OPERATOR_ALLOWED_HOSTS: 'a.example.com, *.b.example.com,',
      OPERATOR_ENGINE_IMAGES: '{"vllm":"own:1"}',
      OPERATOR_DOWNLOAD_ENV: '[{"name":"HTTPS_PROXY","value":"http://p"}]',
      OPERATOR_URL_PORT: '8443',
      OPERATOR_GATEWAY: '{"name":"public","namespace":"","sectionName":""}',
      OPERATOR_FRONT_TLS_SECRETS: 'wildcard',
      OPERATOR_ROUTE_PRESET: 'nginx',
      OPERATOR_NETWORK_POLICIES: 'false',
      OPERATOR_WATCH_NAMESPACES: 'a,b',
      OPERATOR_EGRESS_ALLOW: '10.1.0.0/16',
      OPERATOR_EGRESS_DENY: '203.0.113.0/24,10.96.0.0/12',
      OPERATOR_EGRESS_PLAIN_HTTP: 'true',
    });
    expect(settings).to.deep.include({
      allowedHosts: ['a.example.com', '*.b.example.com'],
      engineImages: { vllm: 'own:1' },
      downloadEnv: [{ name: 'HTTPS_PROXY', value: 'http://p' }],
      urlPort: 8443,
      gateway: { name: 'public', namespace: parse().namespace },
      frontTLSSecrets: ['wildcard'],
      routePreset: 'nginx',
      networkPolicies: false,
      egress: { allow: ['10.1.0.0/16'], deny: ['203.0.113.0/24', '10.96.0.0/12'], plainHTTP: true },
      watchNamespaces: ['a', 'b'],
    });
  });

  it('allows all pod fields but those of the node, unless it is configured', () => {
    expect(parse().podFields).to.deep.equal({ groups: POD_FIELD_GROUPS, host: false });
    const told = { OPERATOR_POD_FIELDS: 'images,placement', OPERATOR_POD_FIELDS_HOST: 'true' };
    expect(parse(told).podFields).to.deep.equal({ groups: ['images', 'placement'], host: true });
    expect(parse({ OPERATOR_POD_FIELDS: '' }).podFields.groups).to.deep.equal([]);
  });

  const wrong: [string, Record<string, string>, RegExp][] = [
    [
      'an unknown group of pod fields',
      { OPERATOR_POD_FIELDS: 'host' },
      /^OPERATOR_POD_FIELDS must list images/,
    ],
    ['a missing variable', { OPERATOR_DOMAIN: '' }, /^OPERATOR_DOMAIN must be set$/],
    [
      'an unknown choice',
      { OPERATOR_REDIS_USERS: 'on' },
      /^OPERATOR_REDIS_USERS must be one of managed, external, off, not "on"$/,
    ],
    ['a port that is none', { OPERATOR_URL_PORT: '99999' }, /^OPERATOR_URL_PORT must be a port/],
    ['broken JSON', { OPERATOR_ENGINE_IMAGES: '{' }, /^OPERATOR_ENGINE_IMAGES must be a JSON object/],
    ['JSON of another shape', { OPERATOR_DOWNLOAD_ENV: '{}' }, /^OPERATOR_DOWNLOAD_ENV must be a JSON list/],
  ];
  for (const [name, env, message] of wrong)
    it(`names ${name}`, () => expect(() => parse(env)).to.throw(EnvironmentError, message));

  describe('with its Secret', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'berth-operator-'));
    });
    after(() => rmSync(folder, { recursive: true }));

    it('needs the master key, and reads it and the credentials from files', () => {
      const env = { ...REQUIRED, OPERATOR_SECRET_PATH: folder };
      expect(() => readEnvironment(env)).to.throw(EnvironmentError, /master-key/);
      writeFileSync(join(folder, 'master-key'), 'key\n');
      writeFileSync(join(folder, 'redis-password'), 'secret');
      const { settings, process } = readEnvironment(env);
      expect(settings).to.include({ masterKey: 'key', redisPassword: 'secret', redisUsername: undefined });
      expect(process).to.include({ podName: 'operator-1', leaseName: 'berth-operator', logLevel: 'info' });
    });
  });
});
