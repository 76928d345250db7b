/** The queries of dashboards and alerts against a real Prometheus that scrapes real programs, those of `make run`. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { expect } from 'chai';
import { parse } from 'yaml';
import { createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { loadKubeConfig } from '../../../kube/connection.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import type { EndpointEntry } from '../../../launch/endpoints-file.ts';
import { planPorts } from '../../../launch/local-plan.ts';
import { DASHBOARDS } from '../../../tools/generate/dashboard-panels.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';
import { describeTargets, readScrapeConfig } from '../../support/pod-monitors.ts';
import { pollUntil } from '../../support/poll.ts';
import { usePrometheus } from '../../support/prometheus.ts';
import { type RunningPrometheus, type Sample, startPrometheus } from '../../support/running-prometheus.ts';

const ALERTS = 'charts/berth/files/prometheus/alerts.yaml';
const NAMESPACE = 'default';
const TARGETS = 'targets.json';
/** In place of Grafana's, which follows the interval of scrapes. */
const RATE_INTERVAL = '30s';
const TIMEOUT_MS = 240_000;

const describeModel = (name: string, spec: object) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name, namespace: NAMESPACE },
  spec: { kind: 'LLM', model: { id: name }, engine: { preset: 'simulator' }, ...spec },
});
const OBJECTS = [
  describeModel('chat', {
    replicas: 2,
    concurrency: 1,
    limits: { waitForSlot: '0s' },
    slo: { availability: 99.9, timeToFirstToken: { within: '800ms' } },
  }),
  describeModel('picture', { kind: 'Image', image: { sizes: ['64x64'], tasks: ['txt2img'] } }),
  describeModel('asleep', { scaling: { min: 0, max: 1, coldStart: { mode: 'Hold', holdFor: '2m' } } }),
  {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'workspace', namespace: NAMESPACE },
    spec: { ownerEmail: 'owner@example.com', credit: '1000' },
  },
  // Whose condition fails; `broken` is the name of one that `make run` has itself where there is an S3 server.
  {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'StorageCredential',
    metadata: { name: 'unreachable', namespace: NAMESPACE },
    spec: { endpoint: 'http://127.0.0.1:1', bucket: 'none', secret: 'none' },
  },
];

interface Asked {
  place: string;
  expr: string;
  /** It may have no data; why. */
  reason: string | null;
  found: Sample[];
}

const RARE = 'only in trouble, or with a feature that is not used here';

/** For each deployment of the test that may have it. */
const fillIn = (expr: string, deployment: string): string =>
  expr
    .replaceAll('$__rate_interval', RATE_INTERVAL)
    .replaceAll('$namespace', NAMESPACE)
    .replaceAll('$deployment', deployment);

const listPanelQueries = (): Asked[] =>
  DASHBOARDS.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map(({ expr, isRare }) => ({
        place: `${name}: ${title}`,
        expr,
        reason: isRare ? RARE : null,
        found: [],
      })),
    ),
  );

interface RuleFile {
  groups: { rules: { alert?: string; record?: string; expr: string }[] }[];
}
const SELECTORS = /\bberth[_:][\w:]+(?:\{[^}]*\})?/g;

/** An alert that does not fire returns nothing: what is asked is each of its selectors, and of those of a fault the metric itself. */
const listRuleQueries = (): Asked[] =>
  (parse(readFileSync(ALERTS, 'utf8')) as RuleFile).groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, record, expr }) =>
      [...new Set(expr.match(SELECTORS))].flatMap((selector) => {
        const place = `rule: ${alert ?? record}`;
        const metric = selector.replace(/\{.*/, '');
        const isFault = /outcome=|phase=|condition=/.test(selector);
        return [
          { place, expr: selector, reason: isFault ? RARE : null, found: [] },
          ...(isFault ? [{ place, expr: metric, reason: null, found: [] }] : []),
        ];
      }),
    ),
  );

describe('dashboards and alerts over a real Prometheus', function () {
  this.timeout(TIMEOUT_MS + 120_000);
  const findPrometheus = usePrometheus('prometheus');
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  let stack: LocalStack;
  let prometheus: RunningPrometheus;
  let hook: Server;
  let client: KubeClient;

  before(async () => {
    writeFileSync(
      join(models, 'objects.json.yaml'),
      OBJECTS.map((each) => JSON.stringify(each)).join('\n---\n'),
    );
    stack = await startLocalStack({ MODELS: models });
    hook = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(hook, 'listening');
    const ports = planPorts(Number(new URL(stack.endpoints.unknownURL).port));
    const own = { ...readScrapeConfig('component'), relabel_configs: [] };
    const scrape = (job_name: string, port: number) => ({
      ...own,
      job_name,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    });
    const discovered = {
      file_sd_configs: [{ files: [join(stack.folder, TARGETS)], refresh_interval: '1s' }],
    };
    client = createKubeClient({ config: loadKubeConfig({ file: join(stack.folder, 'kubeconfig') }) });
    await tellTargets();
    prometheus = await startPrometheus(findPrometheus(), {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(process.cwd(), ALERTS)],
      scrape_configs: [
        scrape('operator', ports.operatorMetrics),
        scrape('front', ports.metrics),
        scrape('console', ports.consoleMetrics),
        { ...readScrapeConfig('models'), ...discovered },
        { ...readScrapeConfig('engines'), ...discovered },
      ],
    });
  });
  after(async () => {
    await prometheus?.stop();
    await client?.close();
    await stack?.stop();
    hook?.close();
    rmSync(models, { recursive: true, force: true });
  });

  /** Pods come and go. */
  const tellTargets = async () => {
    const { items } = await client.list(RESOURCES.Pod);
    const path = join(stack.folder, TARGETS);
    writeFileSync(`${path}.new`, JSON.stringify(describeTargets(items as unknown as V1Pod[])));
    renameSync(`${path}.new`, path);
  };

  const post = async ({ baseURL, apiKey }: EndpointEntry, path: string, body: object) => {
    const response = await fetch(`${baseURL}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };
  const find = (name: string) => stack.endpoints.deployments.find((each) => each.name === name)!;
  /** A bit of everything: streams, forwarded and refused ones among them, images that wait and that are queued, a start from zero. */
  const work = async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const chat = { messages, stream: true };
    const picture = { model: 'picture', prompt: 'A cat', size: '64x64' };
    const webhook_url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
    await Promise.all([
      ...Array.from({ length: 5 }, () => post(find('chat'), '/chat/completions', { model: 'chat', ...chat })),
      post(find('picture'), '/images/generations?async=true', { ...picture, webhook_url }),
      post(find('picture'), '/images/generations', picture),
      post(find('asleep'), '/chat/completions', { model: 'asleep', messages }),
      fetch(`${stack.endpoints.console!.url}/api/session`).then((response) => response.text()),
    ]);
  };

  it('return data for every query, but those of trouble', async () => {
    const asked = [...listPanelQueries(), ...listRuleQueries()];
    const ask = async (each: Asked) => {
      for (const deployment of ['chat', 'picture', 'asleep']) {
        const samples = await prometheus.query(fillIn(each.expr, deployment));
        // A quantile of nothing is no number.
        each.found = samples.filter(({ value }) => Number.isFinite(value));
        if (each.found.length > 0) return;
      }
    };
    const listEmpty = () => asked.filter(({ reason, found }) => reason === null && found.length === 0);
    const end = performance.now() + TIMEOUT_MS;
    do {
      await work();
      await tellTargets();
      for (const each of asked.filter(({ found }) => found.length === 0)) await ask(each);
    } while (listEmpty().length > 0 && performance.now() < end);

    const table = asked.map(({ place, expr, reason, found }) => {
      const { metric = {}, value } = found[0] ?? {};
      const labels = Object.entries(metric).map(([name, text]) => `${name}=${text}`);
      const result =
        found.length > 0 ? `${found.length} series, such as ${labels.join(' ')} ${value}` : reason;
      return `| ${[place, `\`${expr.trim().replaceAll('|', '\\|')}\``, result].join(' | ')} |`;
    });
    const path = process.env.PROMETHEUS_TABLE;
    if (path)
      writeFileSync(path, ['| Panel or rule | Query | Result |', '|---|---|---|', ...table, ''].join('\n'));
    expect(listEmpty().map(({ place, expr }) => `${place}: ${expr}`)).to.deep.equal([]);
  });

  it('have every target up, and every rule evaluated', async () => {
    type Targets = { activeTargets: { labels: Record<string, string>; health: string; lastError: string }[] };
    const { activeTargets } = await prometheus.read<Targets>('targets?state=active');
    const jobs = activeTargets.map(({ labels }) => labels.job);
    expect(jobs).to.include.members(['operator', 'front', 'console', 'models', 'engines']);
    const chats = activeTargets.filter(({ labels }) => labels.pod?.startsWith('chat-'));
    expect(
      chats.map(({ labels, health, lastError }) => `${labels.job} ${health} ${lastError}`).sort(),
    ).to.deep.equal(['engines up ', 'engines up ', 'models up ', 'models up ']);
    type Rules = { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    await pollUntil(async () => {
      const { groups } = await prometheus.read<Rules>('rules');
      return groups.every(({ rules }) => rules.every(({ health }) => health === 'ok'));
    }, 'every rule to be evaluated');
  });
});
