import type { V1IngressSpec } from '@kubernetes/client-node';
import { expect } from 'chai';
import { defaultHost } from '../../../../api/names.ts';
import { build, makeModel } from './fixtures.ts';

const annotationsOf = (spec: object, settings = {}) =>
  build(spec, settings).find('Ingress').metadata.annotations ?? {};

describe("a deployment's host", () => {
  it('is one DNS label under the domain, so that one wildcard certificate covers all', () => {
    const { ingress, url } = build();
    expect(ingress().rules![0]!.host).to.equal('qwen--team-a.models.example.com');
    expect(url).to.equal('https://qwen--team-a.models.example.com/v1');
  });

  it('is shortened with a hash where the label would be too long', () => {
    const model = makeModel({}, { name: 'n'.repeat(45), namespace: 's'.repeat(60) });
    const [label] = build(model).ingress().rules![0]!.host!.split('.');
    expect(label).to.match(/^n{45}--s+--[0-9a-f]{12}$/);
    expect(label!.length).to.be.at.most(63);
  });

  it('is nobody else’s where a name has the separator in it', () => {
    const hostOf = (name: string, namespace: string) => defaultHost(name, namespace, 'example.com');
    const pairs = [
      ['chat', 'prod--team'],
      ['chat--prod', 'team'],
      ['chat', 'prod-team'],
      ['chat-prod', 'team'],
      ['chat---prod', 'team'],
      ['chat--prod--team', 'x'],
    ] as const;
    const hosts = pairs.map(([name, namespace]) => hostOf(name, namespace));
    expect(new Set(hosts).size).to.equal(pairs.length);
    expect(hostOf('chat--prod', 'team')).to.match(/^chat-prod--team--[0-9a-f]{12}\.example\.com$/);
    expect(hostOf('chat', 'prod-team')).to.equal('chat--prod-team.example.com');
    // An ordinary name, which has the separator once, cannot match a hashed one.
    for (const host of hosts.filter((host) => host.split('--').length > 2))
      expect(hostOf(host.split('--')[0]!, host.split('.')[0]!.split('--').slice(1).join('--'))).to.not.equal(
        host,
      );
  });

  const hosts: [string, boolean][] = [
    ['llm.example.com', true],
    ['a.llm.example.com', true],
    ['qwen--team-a.models.example.com', true],
    ['a.b.llm.example.com', false],
    ['other--team-b.models.example.com', false],
    ['llm.example.com.evil.org', false],
  ];
  for (const [host, allowed] of hosts)
    it(`${allowed ? 'may' : 'may not'} be ${host}`, () => {
      const built = build({ route: { host } });
      expect(built.has('Ingress')).to.equal(allowed);
      expect(built.url).to.equal(allowed ? `https://${host}/v1` : undefined);
      expect(built.problems.map(({ reason }) => reason)).to.deep.equal(allowed ? [] : ['HostNotAllowed']);
    });

  it("may not be what is another's by name, though all hosts of the domain are allowed", () => {
    const settings = { allowedHosts: ['*.models.example.com'] };
    const allows = (host: string) => build({ route: { host } }, settings).has('Ingress');
    expect(allows('llm.models.example.com')).to.equal(true);
    expect(allows('qwen--team-a.models.example.com')).to.equal(true);
    expect(allows('other--team-b.models.example.com')).to.equal(false);
    expect(allows('console.models.example.com')).to.equal(false);
    const { problems } = build({ route: { host: 'other--team-b.models.example.com' } }, settings);
    expect(problems.map(({ reason, message }) => `${reason}: ${message}`)).to.deep.equal([
      "HostNotAllowed: spec.route.host other--team-b.models.example.com is another deployment's default host; omit it to use the default",
    ]);
  });

  it('is withheld, but nothing else, while another deployment has it', () => {
    const problems = [{ reason: 'HostConflict', message: 'taken' }];
    const built = build({}, {}, { problems });
    expect(built.has('Ingress')).to.equal(false);
    expect(built.has('Deployment')).to.equal(true);
    expect(built.url).to.equal(undefined);
  });

  it('is the Service within the cluster where no route is wanted', () => {
    const built = build({ route: { enabled: false } });
    expect(built.has('Ingress')).to.equal(false);
    expect(built.url).to.equal('http://qwen.team-a.svc/v1');
  });

  it('carries the port and scheme that clients see', () => {
    expect(build({}, { urlScheme: 'http', urlPort: 8443 }).url).to.equal(
      'http://qwen--team-a.models.example.com:8443/v1',
    );
  });
});

describe('an Ingress', () => {
  it("points at the deployment's own Service", () => {
    const [path] = build().ingress().rules![0]!.http!.paths;
    expect(path).to.deep.equal({
      path: '/',
      pathType: 'Prefix',
      backend: { service: { name: 'qwen', port: { number: 80 } } },
    });
  });

  it("takes the spec's class, then the installation's, then the cluster's", () => {
    const classOf = (className?: string, ingressClass?: string) =>
      build({ route: { className } }, { ingressClass }).ingress().ingressClassName;
    expect([classOf('own', 'all'), classOf(undefined, 'all'), classOf()]).to.deep.equal([
      'own',
      'all',
      undefined,
    ]);
  });

  it('gives way to an HTTPRoute where a Gateway is named, by the spec or by the installation', () => {
    const gateway = { name: 'public', namespace: 'gateways', sectionName: 'https' };
    const parentOf = (spec: object, settings = {}) => {
      const built = build(spec, settings);
      if (!built.has('HTTPRoute')) return undefined;
      return (built.find('HTTPRoute').spec as { parentRefs: object[] }).parentRefs[0];
    };
    expect(parentOf({}, { gateway })).to.deep.equal(gateway);
    expect(parentOf({ route: { type: 'Ingress' } }, { gateway })).to.equal(undefined);
    expect(parentOf({ route: { gateway: { name: 'own' } } }, { gateway })).to.deep.equal({
      name: 'own',
      namespace: 'team-a',
    });
    expect(parentOf({ route: { gateway: { name: 'own' } } })).to.deep.equal({
      name: 'own',
      namespace: 'team-a',
    });
    expect(parentOf({})).to.equal(undefined);
  });

  it('is withheld where an HTTPRoute is wanted and no Gateway is named', () => {
    const built = build({ route: { type: 'HTTPRoute' } });
    expect([built.has('HTTPRoute'), built.has('Deployment')]).to.deep.equal([false, true]);
    expect(built.problems.map(({ reason }) => reason)).to.deep.equal(['NoGateway']);
  });

  it('serves a certificate of Berth’s own namespace only where the installation lets it', () => {
    const spec = { route: { via: 'Front', tlsSecretName: 'wildcard' } };
    const refused = build(spec);
    expect(refused.frontRoute).to.equal(undefined);
    expect(refused.has('Deployment')).to.equal(true);
    expect(refused.problems).to.deep.equal([
      {
        reason: 'TLSSecretNotAllowed',
        message:
          "spec.route.tlsSecretName wildcard: with via Front it refers to a Secret in Berth's own namespace, and none is allowed there (ingress.frontTLSSecrets in the chart); omit it to use the controller's own certificate, or use via Direct",
      },
    ]);
    const allowed = build(spec, { frontTLSSecrets: ['wildcard'] });
    expect(allowed.problems).to.deep.equal([]);
    expect((allowed.frontRoute!.spec as V1IngressSpec).tls![0]!.secretName).to.equal('wildcard');
    expect(build(spec, { frontTLSSecrets: ['other'] }).problems[0]!.message).to.contain(
      'only other are allowed there',
    );
    expect(build({ route: { ...spec.route, enabled: false } }).problems).to.deep.equal([]);
  });

  it('serves the certificate of the spec', () => {
    const { ingress, url } = build({ route: { tlsSecretName: 'cert' } }, { urlScheme: 'http' });
    expect(ingress().tls).to.deep.equal([{ hosts: ['qwen--team-a.models.example.com'], secretName: 'cert' }]);
    expect(url).to.match(/^https:/);
  });

  it('lets nginx answer for as long and take as much as the gateway does, and buffer nothing', () => {
    const prefix = 'nginx.ingress.kubernetes.io';
    const annotations = annotationsOf({ route: { preset: 'nginx' } });
    expect(annotations).to.deep.equal({
      [`${prefix}/proxy-body-size`]: '0',
      [`${prefix}/proxy-buffering`]: 'off',
      [`${prefix}/proxy-request-buffering`]: 'off',
      [`${prefix}/proxy-read-timeout`]: '180',
      [`${prefix}/proxy-send-timeout`]: '360',
      // By the Service's address, so that nginx need not learn the front's when the last pod is removed.
      [`${prefix}/service-upstream`]: 'true',
    });
    const longer = annotationsOf({ route: { preset: 'nginx' }, limits: { requestTimeout: '10m' } });
    expect(longer[`${prefix}/proxy-read-timeout`]).to.equal('660');
  });

  for (const [preset, isNative] of [
    ['traefik', true],
    ['gateway-api', true],
    ['none', true],
    ['nginx', false],
    ['alb', false],
  ] as const)
    it(`${isNative ? 'has' : 'does not have'} Traefik dial the Service's address with preset ${preset}`, () => {
      const annotations = build({ route: { preset } }).find('Service').metadata.annotations ?? {};
      for (const key of ['traefik.ingress.kubernetes.io/service.nativelb', 'traefik.io/service.nativelb'])
        expect(annotations[key]).to.equal(isNative ? 'true' : undefined);
    });

  it('lets an ALB idle for as long, and take a missing route for health', () => {
    const annotations = annotationsOf({}, { routePreset: 'alb' });
    expect(annotations['alb.ingress.kubernetes.io/load-balancer-attributes']).to.equal(
      'idle_timeout.timeout_seconds=360',
    );
    expect(annotations['alb.ingress.kubernetes.io/success-codes']).to.equal('200-499');
  });

  it('carries annotations that the installation lets through', () => {
    const annotations = { 'cert-manager.io/cluster-issuer': 'letsencrypt' };
    expect(annotationsOf({ route: { annotations } })).to.deep.equal(annotations);
  });
});

describe('an HTTPRoute', () => {
  const route = { type: 'HTTPRoute', gateway: { name: 'public', sectionName: 'https' } };

  it("attaches to the Gateway of the spec, by default in the deployment's namespace", () => {
    const { spec } = build({ route }).find('HTTPRoute') as unknown as { spec: { parentRefs: object[] } };
    expect(spec.parentRefs).to.deep.equal([{ name: 'public', namespace: 'team-a', sectionName: 'https' }]);
  });

  it("switches the Gateway's own timeouts off with its preset", () => {
    const rulesOf = (preset: string) =>
      (build({ route: { ...route, preset } }).find('HTTPRoute').spec as { rules: object[] }).rules;
    expect(rulesOf('gateway-api')[0]).to.deep.include({
      timeouts: { request: '0s' },
      backendRefs: [{ name: 'qwen', port: 80 }],
    });
    expect(rulesOf('none')[0]).not.to.have.property('timeouts');
  });
});

describe('a route through the front', () => {
  const front = (spec: object = {}) => build({ route: { via: 'Front' }, ...spec });

  it("lives in Berth's namespace, points at the front's Service and has no owner in another namespace", () => {
    const built = front();
    expect(built.has('Ingress')).to.equal(false);
    const { metadata, spec } = built.frontRoute!;
    expect(metadata.namespace).to.equal('berth-system');
    expect(metadata.ownerReferences).to.equal(undefined);
    expect(metadata.labels).to.include({ 'berth.dev/deployment': 'qwen' });
    const { rules } = spec as V1IngressSpec;
    expect(rules![0]!.host).to.equal('qwen--team-a.models.example.com');
    expect(rules![0]!.http!.paths[0]!.backend.service).to.deep.equal({
      name: 'berth-front',
      port: { number: 80 },
    });
  });

  it('has a name that no other deployment shares', () => {
    const nameOf = (name: string, namespace: string) =>
      build(makeModel({ route: { via: 'Front' } }, { name, namespace })).frontRoute!.metadata.name;
    expect(nameOf('b-c', 'a')).not.to.equal(nameOf('c', 'a-b'));
    expect(nameOf('n'.repeat(45), 's'.repeat(63)).length).to.be.at.most(253);
  });

  it('can be the default of the installation, and overridden', () => {
    expect(build({}, { routeVia: 'Front' }).via).to.equal('Front');
    expect(build({ route: { via: 'Direct' } }, { routeVia: 'Front' }).frontRoute).to.equal(undefined);
  });

  it('is withheld like any other', () => {
    expect(front({ route: { via: 'Front', host: 'evil.com' } }).frontRoute).to.equal(undefined);
  });
});
