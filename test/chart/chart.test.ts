import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { ensureBinary } from '../../cluster/binaries.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { createKubeRequest } from '../support/kube-request.ts';
import { writeKubernetesSchemas } from './kubernetes-schemas.ts';
import { IMAGES, setting } from './render.ts';

const CHART = 'charts/berth';
const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: rendered manifests of many kinds
type Manifest = any;

describe('the chart', () => {
  let helm: string;
  const template = (...values: string[]) =>
    run(helm, ['template', 'berth', CHART, '--namespace', 'berth', ...setting(IMAGES, ...values)], {
      maxBuffer: 64 * 1024 * 1024,
    });
  const render = async (...values: string[]): Promise<Manifest[]> => {
    const { stdout } = await template(...values);
    return parseAllDocuments(stdout)
      .map((document) => document.toJS())
      .filter(Boolean);
  };
  const refusal = (...values: string[]): Promise<string> =>
    template(...values).then(
      () => '',
      (error: { stderr: string }) => error.stderr,
    );

  before(async () => {
    helm = await ensureBinary('helm');
  });

  it('passes helm lint', async () => {
    const { stdout } = await run(helm, ['lint', '--strict', CHART, ...setting(IMAGES)]);
    expect(stdout).to.match(/0 chart\(s\) failed/);
  });

  it('renders manifests that kubeconform accepts by the schemas of a real API server', async () => {
    const kubeconform = await ensureBinary('kubeconform');
    const controlPlane = await startControlPlane();
    const folder = await writeKubernetesSchemas(createKubeRequest(controlPlane)).finally(() =>
      controlPlane.close(),
    );
    const variants = [
      [],
      ['watchNamespaces={a,b}', 'redis.users=off', 'ingress.via=Front', 'ingress.className=traefik'],
      ['redis.bundled.enabled=false', 'redis.external.url=redis://r:6379', 'redis.external.secretName=s'],
      ['redis.bundled.tls.enabled=false'],
      ['redis.bundled.tls.plaintext=true'],
      [
        'redis.bundled.enabled=false',
        'redis.external.url=rediss://r:6379',
        'redis.external.secretName=s',
        'redis.external.tls.caSecret=authority',
      ],
      ['storage.bucket=berth', 'storage.endpoint=http://minio:9000', 'storage.secretName=s3-keys'],
      ['mail.smtpSecretName=smtp', 'mail.from=berth@example.com'],
      ['console.route.tlsSecretName=cert', 'console.publicURL=https://berth.example.com'],
      ['console.enabled=false'],
      [
        'console.oidc.issuer=https://id.example.com',
        'console.oidc.clientId=berth',
        'console.oidc.secretName=oidc-client',
        'console.oidc.caSecretName=authority',
      ],
      ['redis.bundled.backup.enabled=true', 'redis.bundled.backup.claim=copies'],
      ['sidecarRollout.enabled=true'],
    ];
    for (const values of variants) {
      const { stdout } = await template('crds.install=false', ...values);
      const location = `${folder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
      const checking = run(kubeconform, ['-strict', '-summary', '-verbose', '-schema-location', location]);
      checking.child.stdin!.end(stdout);
      const { stdout: report } = await checking.catch((error: { stdout: string }) => error);
      expect(report).to.match(/Invalid: 0, Errors: 0, Skipped: 0/);
    }
  });

  it('makes no Secret, and renders alike each time, where it is given those that it would make', async () => {
    const values = [
      'masterKeySecret=mine',
      'redis.bundled.existingSecret=passwords',
      'redis.bundled.tls.existingSecret=certificate',
    ];
    const [first, second] = await Promise.all([render(...values), render(...values)]);
    expect(first).to.deep.equal(second);
    expect(first.filter(({ kind }) => kind === 'Secret')).to.deep.equal([]);
    const text = JSON.stringify(first);
    for (const name of [
      '"secretName":"passwords"',
      '"name":"mine"',
      '"name":"passwords"',
      '"name":"certificate"',
    ])
      expect(text).to.include(name);
  });

  it('passes its helm-unittest suites', async () => {
    const unittest = await ensureBinary('helm-unittest');
    const { stdout } = await run(unittest, ['--strict', CHART]);
    expect(stdout).to.match(/Tests:\s+[1-9]\d* passed/);
  });

  const components = { operator: 2, front: 2, console: 1 };
  for (const [component, replicas] of Object.entries(components))
    it(`hardens the ${component}`, async () => {
      const deployment = (await render()).find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `berth-${component}`,
      );
      const pod = deployment.spec.template.spec;
      expect(pod.securityContext).to.include({ runAsNonRoot: true });
      expect(pod.containers[0].securityContext).to.deep.include({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(deployment.spec.replicas).to.equal(replicas);
      expect(pod.containers[0]).to.include.keys('readinessProbe', 'livenessProbe', 'resources');
    });

  it("sizes each program's heap by its memory limit", async () => {
    // As docs/security.md says, "Resource limits".
    const heaps: Record<string, [percent: number, limit: string]> = {
      operator: [75, '512Mi'],
      front: [62, '1Gi'],
      console: [75, '512Mi'],
    };
    for (const component of Object.keys(components)) {
      const deployment = (await render()).find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `berth-${component}`,
      );
      const [{ env, resources }] = deployment.spec.template.spec.containers;
      const { value } = env.find(({ name }: { name: string }) => name === 'NODE_OPTIONS');
      const [percent, limit] = heaps[component]!;
      expect(value).to.match(new RegExp(`--max-old-space-size-percentage=${percent}$`));
      expect(resources.limits.memory).to.equal(limit);
    }
  });

  it('leaves users and groups to OpenShift if configured', async () => {
    const users = /runAsUser|runAsGroup|fsGroup/;
    expect(JSON.stringify(await render())).to.match(users);
    const manifests = await render('securityContext.platform=openshift');
    expect(JSON.stringify(manifests.filter(({ kind }) => kind !== 'CustomResourceDefinition'))).not.to.match(
      users,
    );
    expect(JSON.stringify(manifests)).to.include('"runAsNonRoot":true');
    const operator = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'berth-operator',
    );
    const { env } = operator.spec.template.spec.containers[0];
    expect(env).to.deep.include({ name: 'OPERATOR_SECURITY_PLATFORM', value: 'openshift' });
    expect(await refusal('securityContext.platform=windows')).to.match(/platform/);
  });

  it('has the engines scraped through the gateways beside them', async () => {
    const monitors = (await render('metrics.serviceMonitor.enabled=true')).filter(
      ({ kind }) => kind === 'PodMonitor',
    );
    const engines = monitors.find(({ metadata }) => metadata.name === 'berth-engines');
    expect(engines.spec.selector.matchLabels).to.include({ 'berth.dev/engine-metrics': 'true' });
    expect(engines.spec.podMetricsEndpoints).to.deep.equal([
      {
        port: 'metrics',
        path: '/engine/metrics',
        interval: '30s',
        metricRelabelings: [{ action: 'labeldrop', regex: 'exported_(namespace|pod)' }],
      },
    ]);
  });

  it('has alerts and dashboards where they are asked for, and links to runbooks where those are published', async () => {
    const kinds = async (...values: string[]) =>
      (await render(...values)).filter(
        ({ kind, metadata }) => kind === 'PrometheusRule' || /dashboard/.test(metadata.name),
      );
    expect(await kinds()).to.deep.equal([]);
    const dashboards = await kinds('metrics.dashboards.enabled=true');
    expect(dashboards.map(({ metadata }) => metadata.name)).to.have.members(
      ['fleet', 'deployment', 'workspace', 'queue', 'operator'].map((name) => `berth-dashboard-${name}`),
    );
    for (const { metadata, data } of dashboards) {
      expect(metadata.labels).to.include({ grafana_dashboard: '1' });
      for (const text of Object.values(data)) expect(JSON.parse(text as string).uid).to.match(/^berth-/);
    }
    const [rules] = await kinds('metrics.rules.enabled=true', 'documentationURL=https://docs.example.com/');
    const alerts = rules.spec.groups
      .flatMap((group: Manifest) => group.rules)
      .filter((rule: Manifest) => rule.alert);
    expect(alerts).to.have.length.above(15);
    for (const { annotations } of alerts)
      expect(annotations.runbook_url).to.match(/^https:\/\/docs\.example\.com\/runbooks\/[a-z-]+$/);
    const [bare] = await kinds('metrics.rules.enabled=true');
    expect(JSON.stringify(bare))
      .to.contain('$labels.namespace')
      .and.not.match(/runbook|RUNBOOKS/);
  });

  it('lets the operator alone list Secrets, of which it asks for metadata, and members alone read logs', async () => {
    for (const role of await render())
      for (const rule of role.kind === 'ClusterRole' || role.kind === 'Role' ? role.rules : []) {
        if (!rule.apiGroups.includes('')) continue;
        if (rule.resources.includes('secrets') && role.metadata.name !== 'berth-operator')
          expect(rule.verbs).to.not.include.oneOf(['list', 'watch', '*']);
        expect(rule.resources).to.not.include.oneOf(['pods/exec', '*']);
        if (rule.resources.includes('pods/log')) {
          expect(role.metadata.name).to.equal('berth-member');
          expect(rule.verbs).to.not.include.oneOf(['create', 'update', 'patch', 'delete']);
        }
        expect(rule.verbs).to.not.include('*');
      }
  });

  it('renders Roles instead of a ClusterRole for the operator with watchNamespaces', async () => {
    const manifests = await render('watchNamespaces={team-a,team-b}');
    const namespaces = manifests
      .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'berth-operator')
      .map(({ metadata }) => metadata.namespace);
    expect(namespaces).to.include.members(['team-a', 'team-b']);
    const bound = manifests.filter(
      ({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name === 'berth-operator',
    );
    expect(bound).to.deep.equal([]);
  });

  it('puts no disruption budget that could block a node drain for ever', async () => {
    const budgets = (await render()).filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name)).to.have.members(['berth-operator', 'berth-front']);
    for (const { spec } of budgets) {
      expect(spec.maxUnavailable).to.equal(1);
      expect(spec.unhealthyPodEvictionPolicy).to.equal('AlwaysAllow');
    }
  });

  it('keeps the CRDs on uninstall, and omits them if configured', async () => {
    const definitions = (manifests: Manifest[]) =>
      manifests.filter(({ kind }) => kind === 'CustomResourceDefinition');
    const installed = definitions(await render());
    expect(installed).to.have.length(5);
    for (const { metadata } of installed)
      expect(metadata.annotations['helm.sh/resource-policy']).to.equal('keep');
    expect(definitions(await render('crds.install=false'))).to.deep.equal([]);
  });

  it('runs the bundled Redis append-only and without eviction, or none', async () => {
    const config = (await render()).find(({ kind, data }) => kind === 'ConfigMap' && data['redis.conf']);
    expect(config.data['redis.conf'])
      .to.match(/appendonly yes/)
      .and.match(/maxmemory-policy noeviction/);
    const manifests = await render(
      'redis.bundled.enabled=false',
      'redis.external.url=rediss://r:6379',
      'redis.external.secretName=s',
    );
    expect(manifests.filter(({ kind }) => kind === 'StatefulSet')).to.deep.equal([]);
    const external = ['redis.bundled.enabled=false', 'redis.external.url=redis://r:6379'];
    expect(await refusal(...external, 'redis.external.secretName=s', 'redis.durability=strict')).to.match(
      /appendfsync always/,
    );
    expect(await refusal('redis.bundled.enabled=false')).to.match(
      /redis\.external\.(url|secretName) is required/,
    );
  });

  it('keeps the internal port away from every Ingress and from the Service that Ingresses use', async () => {
    const manifests = await render('ingress.via=Front', 'storage.bucket=berth', 'storage.secretName=s');
    const withPort = manifests.filter(({ kind, spec }) =>
      kind === 'Service' ? spec.ports.some(({ targetPort }: Manifest) => targetPort === 'internal') : false,
    );
    expect(withPort.map(({ metadata }) => metadata.name)).to.deep.equal(['berth-front-internal']);
    expect(withPort[0].spec.type).to.equal('ClusterIP');
    const routes = manifests.filter(({ kind }) => kind === 'Ingress' || kind === 'HTTPRoute');
    expect(routes).to.not.have.length(0);
    for (const route of routes) expect(JSON.stringify(route)).to.not.match(/internal|8082/);
    const policy = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'berth-front',
    );
    for (const { ports, from } of policy.spec.ingress)
      if (ports.some(({ port }: Manifest) => port === 8082)) expect(from).to.have.length(2);
  });

  it('routes through a Gateway by HTTPRoutes, the catch-all too', async () => {
    const manifests = await render(
      'ingress.gateway.name=public',
      'ingress.gateway.sectionName=https',
      'console.route.type=HTTPRoute',
    );
    const routes = manifests.filter(({ kind }) => kind === 'HTTPRoute' || kind === 'Ingress');
    expect(routes.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).to.deep.equal([
      'HTTPRoute berth-catch-all',
      'HTTPRoute berth-console',
    ]);
    for (const { spec } of routes) {
      const [{ namespace, ...gateway }] = spec.parentRefs;
      expect(gateway).to.deep.equal({ name: 'public', sectionName: 'https' });
      expect(namespace).to.equal(routes[0].metadata.namespace);
    }
    const catchAll = routes.find(({ metadata }) => metadata.name === 'berth-catch-all');
    expect(catchAll.spec.hostnames).to.deep.equal(['*.berth.local']);
    const operator = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'berth-operator',
    );
    const { env } = operator.spec.template.spec.containers[0];
    const given = env.find(({ name }: Manifest) => name === 'OPERATOR_GATEWAY');
    expect(JSON.parse(given.value)).to.deep.equal({ name: 'public', namespace: '', sectionName: 'https' });
  });

  it('takes every capability and privilege from every container', async () => {
    const manifests = await render('redis.bundled.backup.enabled=true', 'redis.bundled.backup.claim=copies');
    const pods = manifests
      .map(({ spec }) => spec?.template?.spec ?? spec?.jobTemplate?.spec.template.spec)
      .filter((pod) => pod?.containers);
    const containers = pods.flatMap(({ containers, initContainers = [] }) => [
      ...initContainers,
      ...containers,
    ]);
    expect(containers.length).to.be.greaterThan(5);
    for (const { name, securityContext } of containers)
      expect(securityContext, name).to.deep.include({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
      });
  });

  it('puts the registry before every image', async () => {
    const images = JSON.stringify(await render('imageRegistry=mirror.example.com/berth')).match(
      /"image":"[^"]+"/g,
    )!;
    for (const image of images) expect(image).to.match(/"image":"mirror\.example\.com\/berth\//);
  });

  it('asks for an image by the commands that build and push one', async () => {
    const words = await refusal('image.repository=');
    expect(words).to.match(/image\.repository is required/);
    expect(words).to.match(/docker build --file images\/berth\.Dockerfile --tag (\S+) \.\s+docker push \1\s/);
  });

  it('names no image of the simulator unless there is one', async () => {
    const named = async (...values: string[]) =>
      JSON.stringify(await render(...values)).match(/OPERATOR_SIMULATOR_IMAGE","value":"([^"]+)/)?.[1];
    expect(await named()).to.equal(undefined);
    expect(await named('engines.simulator.repository=registry.example.com/simulator')).to.match(
      /^registry\.example\.com\/simulator:\d/,
    );
  });

  const bad: [string, string, RegExp][] = [
    ['an unknown value', 'operator.replica=2', /replica/],
    ['no operator', 'operator.replicas=0', /replicas/],
    ['a route that is neither', 'ingress.via=Both', /via/],
    ['a durability that is none', 'redis.durability=always', /durability/],
    ['a bucket without keys', 'storage.bucket=berth', /storage\.secretName is required/],
    ['a bucket that is a URL', 'storage.bucket=s3://berth', /bucket/],
    ['a store without a scheme', 'storage.endpoint=minio:9000', /endpoint/],
    ['a prefix that leads upwards', 'storage.prefix=a/../b', /prefix/],
    ['a domain with a slash', 'ingress.domain=http://x', /domain/],
  ];
  for (const [what, value, words] of bad)
    it(`refuses ${what}`, async () => {
      expect(await refusal(value)).to.match(words);
    });
});
