import { expect } from 'chai';
import { drainToken } from '../../../../api/identity.ts';
import { build, SETTINGS, variable } from './fixtures.ts';

describe('the gateway in the pod', () => {
  it('is a native sidecar and first of the init containers, also where weights are copied', () => {
    const { pod } = build({ model: { id: 'm', source: { s3: { uri: 's3://models/m' } } } });
    expect(pod.initContainers!.map(({ name }) => name)).to.deep.equal(['gateway', 'fetch-weights']);
    expect(pod.initContainers![0]!.restartPolicy).to.equal('Always');
    expect(pod.initContainers![1]!.restartPolicy).to.equal(undefined);
  });

  it('has a startup probe that says "listening" only, and readiness that follows the engine', () => {
    const { gateway } = build();
    expect(gateway.startupProbe!.httpGet).to.deep.equal({ path: '/startup', port: 8081 });
    expect(gateway.readinessProbe!.httpGet).to.deep.equal({ path: '/readyz', port: 8081 });
    expect(gateway.livenessProbe!.httpGet).to.deep.equal({ path: '/healthz', port: 8081 });
  });

  it('meets the restricted pod security standard, as every init container does', () => {
    const { pod } = build({
      model: { id: 'm', source: { image: { reference: 'w:1', mode: 'Copy', path: 'w' } } },
    });
    for (const { name, securityContext } of pod.initContainers!)
      expect(securityContext, name).to.deep.include({
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
  });

  it('has no CPU limit, and a heap below its memory limit', () => {
    const { gateway } = build();
    expect(gateway.resources!.limits).to.deep.equal({ memory: '1Gi' });
    expect(variable(gateway, 'NODE_OPTIONS')!.value).to.equal(
      '--max-semi-space-size=8 --max-old-space-size=768',
    );
  });

  it('gets its engine, its pod and the path of its Secret, but no credentials', () => {
    const { gateway, pod } = build({ engine: { preset: 'vllm', port: 9000, healthPath: '/ok' } });
    expect(variable(gateway, 'GATEWAY_ENGINE_URL')!.value).to.equal('http://127.0.0.1:9000');
    expect(variable(gateway, 'GATEWAY_ENGINE_HEALTH_PATH')!.value).to.equal('/ok');
    expect(variable(gateway, 'GATEWAY_POD_IP')!.valueFrom!.fieldRef!.fieldPath).to.equal('status.podIP');
    expect(JSON.stringify(pod)).not.to.include('operator-password');
  });

  it("mounts the workspace's own Redis Secret with external users", () => {
    const { pod } = build({}, { redisUsers: 'external', externalRedisSecret: 'my-redis' });
    const { projected } = pod.volumes!.find(({ name }) => name === 'gateway-secret')!;
    expect(projected!.sources!.map(({ secret }) => secret!.name)).to.deep.equal(['qwen-gateway', 'my-redis']);
  });
});

describe('the media of a pod', () => {
  const media = (kind: string) => ({ kind, engine: { preset: 'simulator' }, model: { id: 'm' } });

  for (const [kind, bytes, limit] of [
    ['LLM', 2 ** 30, '1280Mi'],
    ['Image', 2 ** 30, '1280Mi'],
    ['Video', 2 ** 32, '5120Mi'],
  ] as const)
    it(`pass through a bounded volume of the gateway's own: ${kind}`, () => {
      const { gateway, pod } = build(media(kind));
      expect(variable(gateway, 'GATEWAY_STORAGE_URL')!.value).to.equal(SETTINGS.storageURL);
      expect(variable(gateway, 'GATEWAY_SPOOL_BYTES')!.value).to.equal(String(bytes));
      const mount = gateway.volumeMounts!.find(({ name }) => name === 'gateway-spool')!;
      expect(variable(gateway, 'GATEWAY_SPOOL_PATH')!.value).to.equal(`${mount.mountPath}/files`);
      expect(pod.volumes!.find(({ name }) => name === mount.name)!.emptyDir).to.deep.equal({
        sizeLimit: limit,
      });
    });

  it('bypass models of speech, which still show all requests with links to their results', () => {
    const { gateway, pod } = build(media('Speech'));
    expect(gateway.env!.filter(({ name }) => /SPOOL|STORAGE/.test(name))).to.deep.equal([
      { name: 'GATEWAY_STORAGE_URL', value: SETTINGS.storageURL },
    ]);
    expect(pod.volumes!.map(({ name }) => name)).to.not.include('gateway-spool');
  });
});

describe('the engine in the pod', () => {
  it('gets the addresses that tenant URLs may reach, only if the installation sets them', () => {
    expect(variable(build().gateway, 'GATEWAY_EGRESS_ALLOW')).to.equal(undefined);
    const egress = { allow: ['10.1.0.0/16'], deny: ['10.96.0.0/12', '10.0.0.0/24'], plainHTTP: true };
    const { gateway } = build({}, { egress });
    expect(variable(gateway, 'GATEWAY_EGRESS_ALLOW')!.value).to.equal('10.1.0.0/16');
    expect(variable(gateway, 'GATEWAY_EGRESS_DENY')!.value).to.equal('10.96.0.0/12,10.0.0.0/24');
    expect(variable(gateway, 'GATEWAY_EGRESS_PLAIN_HTTP')!.value).to.equal('true');
  });

  it('is probed through the gateway, and started for as long as its start-up may take', () => {
    const { engine } = build({ engine: { preset: 'vllm', startupTimeout: '1h' } });
    const { startupProbe } = engine;
    expect(startupProbe!.httpGet).to.deep.equal({ path: '/engine/startup', port: 8081 });
    expect(startupProbe!.failureThreshold! * startupProbe!.periodSeconds!).to.equal(3600);
    expect(engine.livenessProbe!.httpGet).to.deep.equal({ path: '/engine/liveness', port: 8081 });
  });

  it('is not given up by probes that a busy node answers late', () => {
    const { engine, gateway } = build();
    for (const probe of [engine.startupProbe, engine.livenessProbe])
      expect(probe!.timeoutSeconds).to.be.at.least(10);
    for (const probe of [gateway.startupProbe, gateway.readinessProbe, gateway.livenessProbe])
      expect(probe!.timeoutSeconds).to.be.at.least(10);
    expect(gateway.readinessProbe!.failureThreshold).to.be.at.least(3);
    const { failureThreshold, periodSeconds } = gateway.livenessProbe!;
    expect(failureThreshold! * periodSeconds!).to.be.at.least(120);
  });

  it('is restarted by its liveness only after 5 minutes without an answer, so a crashing gateway costs no model', () => {
    const { failureThreshold, periodSeconds } = build().engine.livenessProbe!;
    expect(failureThreshold! * periodSeconds!).to.be.at.least(300);
  });

  it('ends within 30 s after a failed probe, not after the whole grace period', () => {
    const { startupProbe, livenessProbe } = build().engine;
    expect(startupProbe!.terminationGracePeriodSeconds).to.equal(30);
    expect(livenessProbe!.terminationGracePeriodSeconds).to.equal(30);
  });

  it('drains before it ends, with the token that the gateway of the same template knows', () => {
    const { engine, gateway } = build();
    const { httpGet } = engine.lifecycle!.preStop!;
    const token = drainToken(SETTINGS.masterKey, 'team-a', 'qwen');
    expect(httpGet).to.deep.equal({
      path: '/drain',
      port: 8081,
      httpHeaders: [{ name: 'x-berth-drain-token', value: token }],
    });
    expect(variable(gateway, 'GATEWAY_DRAIN_TOKEN')!.value).to.equal(token);
  });

  it('opens no port, and reports the reason of a crash', () => {
    const { engine } = build();
    expect(engine.ports).to.equal(undefined);
    expect(engine.terminationMessagePolicy).to.equal('FallbackToLogsOnError');
  });

  it("takes the spec's variables over the preset's, each name once", () => {
    const secret = { secretKeyRef: { name: 's', key: 'k' } };
    const { engine } = build({
      engine: {
        preset: 'vllm',
        env: [
          { name: 'VLLM_NO_USAGE_STATS', value: '0' },
          { name: 'TOKEN', valueFrom: secret },
        ],
        envFrom: [{ secretRef: { name: 'more' } }],
      },
    });
    const names = engine.env!.map(({ name }) => name);
    expect(names).to.have.lengthOf(new Set(names).size);
    expect(variable(engine, 'VLLM_NO_USAGE_STATS')!.value).to.equal('0');
    expect(variable(engine, 'TOKEN')!.valueFrom).to.deep.equal(secret);
    expect(engine.envFrom).to.deep.equal([{ secretRef: { name: 'more' } }]);
  });
});

describe('the grace of a pod', () => {
  const cases: [string, object, number][] = [
    ['3 minutes for text', { kind: 'LLM' }, 180],
    ['5 minutes for images', { kind: 'Image', engine: { preset: 'simulator' }, model: { id: 'm' } }, 300],
    ['35 minutes for video', { kind: 'Video', engine: { preset: 'simulator' }, model: { id: 'm' } }, 2100],
    ['what the spec says', { rollout: { drainTimeout: '7m' } }, 420],
  ];
  for (const [name, spec, seconds] of cases)
    it(`is ${name}, and 30 s to end`, () => {
      const { pod, gateway, deployment, drainTimeoutMs } = build(spec);
      expect(pod.terminationGracePeriodSeconds).to.equal(seconds + 30);
      expect(drainTimeoutMs).to.equal((seconds + 30) * 1000);
      expect(variable(gateway, 'GATEWAY_DRAIN_TIMEOUT_MS')!.value).to.equal(String(seconds * 1000));
      // Startup timeout, grace period and 10 minutes.
      expect(deployment.progressDeadlineSeconds).to.equal(1800 + seconds + 30 + 600);
    });
});

describe('rollouts', () => {
  it('need no spare GPU: one pod goes before its replacement comes', () => {
    expect(build().deployment.strategy!.rollingUpdate).to.deep.equal({ maxSurge: 0, maxUnavailable: 1 });
  });

  it('take no pod before its replacement is ready, where there is a spare GPU', () => {
    const { deployment } = build({ rollout: { maxSurge: 1 } });
    expect(deployment.strategy!.rollingUpdate).to.deep.equal({ maxSurge: 1, maxUnavailable: 0 });
  });
});

describe('the number of pods', () => {
  const cases: [string, object, number][] = [
    ['one by default', {}, 1],
    ['what the spec says', { replicas: 3 }, 3],
    ['none by hand', { replicas: 0 }, 0],
    ['none while paused', { replicas: 3, paused: true }, 0],
    ['the minimum with scaling', { scaling: { min: 2, max: 5 } }, 2],
    ['none with scaling from zero', { scaling: { min: 0, max: 5 } }, 0],
  ];
  for (const [name, spec, replicas] of cases)
    it(`is ${name}`, () => {
      const { deployment, desiredReplicas } = build(spec);
      expect([deployment.replicas, desiredReplicas]).to.deep.equal([replicas, replicas]);
    });
});

describe('GPUs', () => {
  it('are limits by resource name, and add the toleration of GPU nodes', () => {
    const { engine, pod, gpuResource } = build({ resources: { limits: { memory: '32Gi' } } });
    expect(engine.resources!.limits).to.deep.equal({ memory: '32Gi', 'nvidia.com/gpu': '1' });
    expect(pod.tolerations).to.deep.equal([
      { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
    ]);
    expect(gpuResource).to.equal('nvidia.com/gpu');
  });

  it('can be MIG slices, on nodes with the same taint, in a runtime class', () => {
    const gpu = { count: 2, resourceName: 'nvidia.com/mig-1g.10gb', runtimeClassName: 'nvidia' };
    const { engine, pod, gpuResource } = build({ gpu });
    expect(engine.resources!.limits).to.deep.equal({ 'nvidia.com/mig-1g.10gb': '2' });
    expect(pod.tolerations![0]!.key).to.equal('nvidia.com/gpu');
    expect(pod.runtimeClassName).to.equal('nvidia');
    expect(gpuResource).to.equal('nvidia.com/mig-1g.10gb');
  });

  it('are asked for by none of the presets that need none', () => {
    const { engine, pod, gpuResource } = build({ model: { id: 'm' }, engine: { preset: 'simulator' } });
    expect(engine.resources!.limits).to.equal(undefined);
    expect([pod.tolerations, gpuResource]).to.deep.equal([[], '']);
  });

  const memory: [string, object, string][] = [
    ['2Gi with one', { gpu: { count: 1 } }, '2Gi'],
    ['2Gi with none, for what their processes exchange', { gpu: { count: 0 } }, '2Gi'],
    ['8Gi with more', { gpu: { count: 2 } }, '8Gi'],
    ['half the memory limit', { gpu: { count: 2 }, resources: { limits: { memory: '64Gi' } } }, '32768Mi'],
    ['what the spec says', { gpu: { count: 1, sharedMemory: '1Gi' } }, '1Gi'],
  ];
  for (const [name, spec, size] of memory)
    it(`have shared memory ${name}`, () => {
      const { pod, engine } = build(spec);
      const volume = pod.volumes!.find(({ name }) => name === 'shared-memory');
      expect(volume?.emptyDir?.sizeLimit).to.equal(size);
      const mount = engine.volumeMounts!.find(({ mountPath }) => mountPath === '/dev/shm');
      expect(mount?.name).to.equal('shared-memory');
    });

  it('have the shared memory that the spec mounts itself, and no second one', () => {
    const template = {
      volumes: [{ name: 'shm', emptyDir: { medium: 'Memory' } }],
      volumeMounts: [{ name: 'shm', mountPath: '/dev/shm/' }],
    };
    const { pod, engine } = build({ gpu: { count: 1 }, template });
    const mounts = engine.volumeMounts!.filter(({ mountPath }) => mountPath.startsWith('/dev/shm'));
    expect(mounts.map(({ name }) => name)).to.deep.equal(['shm']);
    expect(pod.volumes!.map(({ name }) => name)).not.to.include('shared-memory');
  });
});

describe('overrides of the pod', () => {
  it('add labels, but none that would take the pods out of their selector', () => {
    const labels = { team: 'a', 'berth.dev/deployment': 'other', 'app.kubernetes.io/component': 'x' };
    const { template, deployment } = build({ template: { labels } });
    expect(template.metadata!.labels).to.include({ team: 'a', ...deployment.selector.matchLabels });
  });

  it('add annotations, and keep the admin port out of meshes all the same', () => {
    const annotations = { a: 'b', 'traffic.sidecar.istio.io/excludeInboundPorts': '9999' };
    const { template } = build({ template: { annotations } });
    expect(template.metadata!.annotations).to.include({
      a: 'b',
      'traffic.sidecar.istio.io/excludeInboundPorts': '8081,9999',
      'config.linkerd.io/skip-inbound-ports': '8081',
    });
  });

  it('reach the pod: scheduling, pull secrets, volumes, security', () => {
    const { pod, engine } = build(
      {
        template: {
          nodeSelector: { zone: 'a' },
          tolerations: [{ key: 'spot', operator: 'Exists' }],
          affinity: { nodeAffinity: {} },
          priorityClassName: 'high',
          serviceAccountName: 'models',
          imagePullSecrets: ['mine', 'shared'],
          volumes: [{ name: 'lora', emptyDir: {} }],
          volumeMounts: [{ name: 'lora', mountPath: '/lora' }],
          securityContext: { runAsUser: 0, runAsNonRoot: null },
          podSecurityContext: { fsGroup: 7 },
          topologySpreadConstraints: [
            { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
          ],
        },
      },
      { imagePullSecrets: ['shared'] },
    );
    expect(pod.nodeSelector).to.deep.equal({ zone: 'a' });
    expect(pod.tolerations).to.have.lengthOf(2);
    expect(pod.affinity).to.deep.equal({ nodeAffinity: {} });
    expect([pod.priorityClassName, pod.serviceAccountName]).to.deep.equal(['high', 'models']);
    expect(pod.imagePullSecrets).to.deep.equal([{ name: 'shared' }, { name: 'mine' }]);
    expect(pod.volumes!.at(-1)).to.deep.equal({ name: 'lora', emptyDir: {} });
    expect(engine.volumeMounts!.at(-1)).to.deep.equal({ name: 'lora', mountPath: '/lora' });
    expect(engine.securityContext).to.include({ runAsUser: 0 }).and.not.have.property('runAsNonRoot');
    expect(pod.securityContext).to.include({ fsGroup: 7 });
    expect(pod.topologySpreadConstraints![0]).to.deep.include({
      maxSkew: 2,
      labelSelector: {
        matchLabels: { 'berth.dev/deployment': 'qwen', 'app.kubernetes.io/component': 'model' },
      },
    });
  });

  it('are not needed to spread pods over nodes, softly', () => {
    const [constraint] = build().pod.topologySpreadConstraints!;
    expect(constraint).to.include({
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
    });
  });

  it('never give the pod a token of the API server or links to other Services', () => {
    const { pod } = build({ template: { serviceAccountName: 'models' } });
    expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).to.deep.equal([false, false]);
  });
});
