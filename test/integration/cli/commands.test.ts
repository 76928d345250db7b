/** The commands against the API server of `make run`, without an operator. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { deploy, printManifest, waitUntilReady } from '../../../cli/deployment/deploy.ts';
import { findDeployment } from '../../../cli/deployment/deployment.ts';
import { createKey, readLimits } from '../../../cli/deployment/key.ts';
import { printLogs, readLogRequest } from '../../../cli/deployment/logs.ts';
import { explainDeployment, findCause } from '../../../cli/deployment/why.ts';
import { readCommandLine } from '../../../cli/framework/command-line.ts';
import { Failure } from '../../../cli/framework/failure.ts';
import { KubeApiError } from '../../../kube/api-error.ts';
import type { EndpointsFile } from '../../../launch/endpoints-file.ts';
import { type MemoryTarget, recordOutput, setConditions, startMemoryTarget } from './memory-target.ts';

const MODELS = 'modeldeployments.berth.dev';
const KEYS = 'apikeys.berth.dev';

/** The error of a promise that rejects. */
const refusal = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => {
      throw new Error('nothing was refused');
    },
    (error: Failure) => error,
  );

describe('berth, by the API server', () => {
  let target: MemoryTarget;
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-commands-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  beforeEach(async () => {
    target = await startMemoryTarget();
  });
  afterEach(() => target.close());

  const addDeployment = (name: string, ready: object) => {
    target.api.create(MODELS, {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name, namespace: 'team' },
      spec: { kind: 'LLM', model: { id: 'qwen/qwen3' }, engine: { preset: 'simulator' } },
    });
    setConditions(target, MODELS, name, {
      phase: 'Failed',
      observedGeneration: 1,
      url: 'http://127.0.0.1:1/v1',
      conditions: [{ type: 'Ready', ...ready }],
    });
  };
  const addPod = (name: string, container: object) =>
    target.api.store.put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'team',
        uid: name,
        labels: { 'berth.dev/deployment': 'chat', 'app.kubernetes.io/component': 'model' },
      },
      spec: { containers: [{ name: 'engine' }], initContainers: [{ name: 'gateway' }] },
      status: { containerStatuses: [{ name: 'engine', ...container }] },
    });
  const CRASHED = {
    status: 'False',
    reason: 'CrashLoopBackOff',
    message: 'engine exited with code 1, 3 restarts; last log: main: security: no API key is set\nmore',
  } as const;
  const LOG = "main: security: no API key is set\nfailed to open GGUF file 'x.gguf'\nmain: exiting\n";
  const addCrash = () => {
    addDeployment('chat', CRASHED);
    addPod('chat-1', {
      ready: false,
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: {
        terminated: { exitCode: 1, finishedAt: '2026-11-29T12:00:00Z', message: 'kept: no such file' },
      },
    });
    target.logs.set('chat-1/engine', LOG);
  };

  describe('why', () => {
    it('says the condition in a sentence, with the log line that matters, and ends with 5', async () => {
      addCrash();
      const { output, printed } = recordOutput();
      await explainDeployment(target, 'chat', output);
      expect(printed.out).to.equal(
        `chat is not ready: engine exited with code 1, 3 restarts (CrashLoopBackOff, since 2026-11-29T12:00:00Z)
  engine of chat-1: failed to open GGUF file 'x.gguf'
Its log: berth logs chat -n team
`,
      );
      expect(output.exitCode).to.equal(5);
    });

    it('prints the same as JSON', async () => {
      addCrash();
      const { output, printed } = recordOutput(true);
      await explainDeployment(target, 'chat', output);
      expect(JSON.parse(printed.out)).to.deep.equal({
        name: 'chat',
        namespace: 'team',
        ready: false,
        phase: 'Failed',
        reason: 'CrashLoopBackOff',
        sentence: 'engine exited with code 1, 3 restarts',
        since: '2026-11-29T12:00:00Z',
        log: { pod: 'chat-1', container: 'engine', line: "failed to open GGUF file 'x.gguf'" },
        log_problem: null,
      });
    });

    it('says the condition also if the log cannot be read, by what the kubelet kept', async () => {
      addCrash();
      target.logs.set('chat-1/engine', 500);
      const { output, printed } = recordOutput();
      await explainDeployment(target, 'chat', output);
      expect(printed.out)
        .to.include('engine exited with code 1, 3 restarts')
        .and.include('engine of chat-1: kept: no such file');
      addPod('chat-1', { ready: false, state: { running: {} } });
      const other = recordOutput();
      await explainDeployment(target, 'chat', other.output);
      expect(other.printed.out).to.match(/3 restarts[\s\S]*its log could not be read: get pods\/log .* 500/);
      expect(other.output.exitCode).to.equal(5);
    });

    it('waits no long time for a log', async () => {
      addDeployment('chat', CRASHED);
      addPod('chat-1', { ready: false, state: { running: {} } });
      target.logs.set('chat-1/engine', null);
      const cause = await findCause(target, await findDeployment(target, 'chat'), 50);
      expect(cause.sentence).to.include('3 restarts');
      expect(cause.log_problem).to.include('Aborted');
    });

    it('shows how far an engine is that only starts', async () => {
      addDeployment('chat', { status: 'False', reason: 'Starting', message: 'the engine starts' });
      addPod('chat-1', { ready: false, state: { running: {} } });
      target.logs.set('chat-1/engine', 'INFO config not found, using default\nloading: 40 %\n\n');
      const { output, printed } = recordOutput();
      await explainDeployment(target, 'chat', output);
      expect(printed.out).to.include('engine of chat-1: loading: 40 %');
    });

    it('takes no verdict on a former spec, and tells of a pause', async () => {
      addDeployment('chat', { status: 'True', reason: 'Paused', message: 'spec.paused is true' });
      const ask = async () => {
        const { output, printed } = recordOutput();
        await explainDeployment(target, 'chat', output);
        return printed.out;
      };
      const setPhase = (observedGeneration: number) =>
        setConditions(target, MODELS, 'chat', {
          phase: 'Paused',
          observedGeneration,
          conditions: [{ type: 'Ready', status: 'True', message: 'spec.paused is true' }],
        });
      setPhase(1);
      expect(await ask()).to.equal('chat is paused: spec.paused is true\n');
      setPhase(0);
      expect(await ask()).to.include('chat is not ready: the operator has not seen its spec yet');
    });

    it('ends with 0 if it is ready', async () => {
      addDeployment('chat', { status: 'True', reason: 'Ready', message: '1 of 1 replicas ready' });
      const { output, printed } = recordOutput();
      await explainDeployment(target, 'chat', output);
      expect([printed.out, output.exitCode]).to.deep.equal(['chat is ready: 1 of 1 replicas ready\n', 0]);
    });

    it('names the deployments that there are', async () => {
      addDeployment('chat', { status: 'True' });
      const error = await refusal(explainDeployment(target, 'chta', recordOutput().output));
      expect(error).to.include({ kind: 'not_found' });
      expect(error.message).to.match(
        /no deployment chta in the namespace team of the context test; it has chat$/,
      );
    });
  });

  describe('key', () => {
    const create = async (name: string | undefined, limits = {}, isJSON = false) => {
      const { output, printed } = recordOutput(isJSON);
      const stop = target.api.store.listen(({ key, type, object }) => {
        if (key === KEYS && type === 'ADDED')
          setImmediate(() =>
            setConditions(target, KEYS, object.metadata.name, {
              conditions: [{ type: 'Ready', status: 'True' }],
            }),
          );
      });
      await createKey(target, { name, limits }, output).finally(stop);
      return { printed, output };
    };

    it('creates a key with limits, of which the API server gets the hash alone, and prints it', async () => {
      const { printed } = await create('mine', { rpm: '7', expires: '2100-01-01T00:00:00Z', priority: '-5' });
      const key = printed.out.trim();
      expect(key).to.match(/^sk-berth-/);
      const { spec } = target.api.get(KEYS, { namespace: 'team', name: 'mine' });
      expect(spec).to.deep.include({
        sha256: hashApiKey(key),
        rpm: 7,
        tpd: 1_000_000,
        priority: -5,
        expiresAt: '2100-01-01T00:00:00Z',
      });
      expect(JSON.stringify([...target.api.store.all()])).not.to.include(key);
    });

    it('bounds it by an owner, deployments and a budget, and says what these may be', async () => {
      await create('bounded', { owner: 'search', deployments: 'chat,embed', budget: '200/month' });
      expect(target.api.get(KEYS, { namespace: 'team', name: 'bounded' }).spec).to.deep.include({
        owner: 'search',
        deployments: ['chat', 'embed'],
        budget: { amount: '200', period: 'Month', warnAt: [50, 80] },
      });
      for (const [limits, message] of [
        [{ budget: 'much' }, /^--budget must be a decimal/],
        [{ budget: '5/year' }, /^--budget /],
        [{ budget: '5/month/week' }, /^--budget /],
        [{ owner: 'a b' }, /^--owner must be letters/],
        [{ deployments: '' }, /^--deployments /],
      ] as const)
        expect(() => readLimits(limits, new Date())).to.throw(Failure, message);
    });

    it('names it by its hash without a name, also as JSON', async () => {
      const { printed } = await create(undefined, {}, true);
      const { key, ...rest } = JSON.parse(printed.out);
      expect(rest).to.deep.equal({
        name: `key-${hashApiKey(key).slice(0, 10)}`,
        namespace: 'team',
      });
    });

    it('prints the key before it waits, and says where it is', async () => {
      const { output, printed } = recordOutput();
      const printedAtCreation: string[] = [];
      const get = target.client.get;
      const client = {
        ...target.client,
        get: ((...args: Parameters<typeof get>) => {
          printedAtCreation.push(printed.out);
          // An API server that is restarted meanwhile.
          if (printedAtCreation.length > 1) return get(...args);
          return Promise.reject(new KubeApiError({ code: 503, reason: '', call: 'get' }, 'rolling'));
        }) as typeof get,
      };
      const stop = target.api.store.listen(({ key, type, object }) => {
        if (key === KEYS && type === 'ADDED')
          setImmediate(() =>
            setConditions(target, KEYS, object.metadata.name, {
              conditions: [{ type: 'Ready', status: 'True' }],
            }),
          );
      });
      await createKey({ ...target, client }, { name: '', limits: {} }, output).finally(stop);
      expect(printedAtCreation[0]).to.match(/^sk-berth-/);
      expect(output.exitCode).to.equal(0);
      expect(printed.error).to.match(
        /^The key key-[0-9a-f]{10} is of the namespace team of the context test\.$/m,
      );
    });

    it('refuses limits with what is allowed, before it asks anything', async () => {
      const cases: [object, RegExp][] = [
        [{ rpm: 'abc' }, /^--rpm must be a whole number from 1 to 10,000,000, not "abc"$/],
        [{ priority: '101' }, /^--priority .*-100 to 100/],
        [{ expires: 'tomorrow' }, /^--expires must be a date and time such as/],
        [
          { expires: '2020-01-01T00:00:00Z' },
          /^--expires 2020-01-01T00:00:00Z is in the past; give a future/,
        ],
      ];
      for (const [limits, problem] of cases) {
        const error = await refusal(create('mine', limits));
        expect(error).to.include({ kind: 'usage' });
        expect(error.message).to.match(problem);
      }
      expect(target.api.list(KEYS, 'team')).to.deep.equal([]);
    });

    it('says what to do about a name that is taken', async () => {
      await create('mine');
      const error = await refusal(create('mine'));
      expect(error.message).to.match(/an API key mine in team already: choose another name, or remove it/);
    });
  });

  describe('logs', () => {
    const print = async (values: Record<string, string>, flags: string[] = [], isJSON = false) => {
      const { output, printed } = recordOutput(isJSON);
      await printLogs(target, 'chat', readLogRequest({ values, flags: new Set(flags) }), output);
      return printed;
    };
    const LINE = {
      level: 40,
      time: '2026-11-29T12:00:00Z',
      role: 'sidecar',
      deployment: 'team/chat',
      request_id: 'req_1',
      status: 502,
      message: 'the engine failed',
    };

    it("prints the engine's, with a prefix where there are several pods", async () => {
      addCrash();
      expect((await print({})).out).to.equal(LOG);
      addPod('chat-2', { ready: true });
      target.logs.set('chat-2/engine', 'ready\u001b[2J\n');
      expect((await print({})).out).to.equal(
        `${LOG.replaceAll(/^(?=.)/gm, '[chat-1/engine] ')}[chat-2/engine] ready[2J\n`,
      );
    });

    it('prints all lines about a request, of gateways in words and as JSON', async () => {
      addCrash();
      target.logs.set('chat-1/gateway', `${JSON.stringify(LINE)}\n{"request_id":"req_2"}\n`);
      target.logs.set('chat-1/engine', 'req_1: out of memory\nreq_2: done\n');
      expect((await print({ request: 'req_1' })).out).to.equal(
        `[chat-1/gateway] 2026-11-29T12:00:00Z warn the engine failed request_id=req_1 status=502
[chat-1/engine] req_1: out of memory
`,
      );
      const [first] = (await print({ request: 'req_1' }, [], true)).out.split('\n');
      expect(JSON.parse(first!)).to.deep.equal({ pod: 'chat-1', container: 'gateway', line: LINE });
    });

    it("prints of an adapter its base's, whose engine serves it", async () => {
      addCrash();
      target.api.create(MODELS, {
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name: 'sql', namespace: 'team' },
        spec: {
          kind: 'LLM',
          model: { id: 'acme/sql', source: { huggingFace: { repo: 'acme/sql-lora' } } },
          adapterOf: { deployment: 'chat' },
        },
      });
      const { output, printed } = recordOutput();
      await printLogs(target, 'sql', readLogRequest({ values: {}, flags: new Set() }), output);
      expect(printed.out).to.equal(LOG);
    });

    it('says so if there is nothing about a request, or no pod', async () => {
      addDeployment('chat', CRASHED);
      const none = await refusal(print({}));
      expect(none).to.include({ kind: 'not_ready' });
      expect(none.message).to.equal('chat has no pods, so there are no logs: berth why chat says why');
      addPod('chat-1', { ready: true });
      expect(await refusal(print({ request: 'req_9' }))).to.include({ kind: 'not_found' });
    });

    it('refuses wrong options with what is allowed', async () => {
      expect((await refusal(print({ tail: 'all' }))).message).to.equal(
        '--tail must be a number of lines, not "all"',
      );
      expect((await refusal(print({ since: '5' }))).message).to.include('such as 30s, 5m, 2h or 1d');
      expect((await refusal(print({ request: '' }))).message).to.include('x-request-id');
    });

    it('goes on where one cannot be read, and ends with 1', async () => {
      addCrash();
      addPod('chat-2', { ready: true });
      target.logs.set('chat-1/engine', 500);
      target.logs.set('chat-2/engine', 'ready\n');
      const { output, printed } = recordOutput(true);
      await printLogs(target, 'chat', readLogRequest({ values: {}, flags: new Set() }), output);
      const [first, second] = printed.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(first).to.include({ pod: 'chat-1', container: 'engine' }).and.have.property('error');
      expect(second).to.deep.equal({ pod: 'chat-2', container: 'engine', line: 'ready' });
      expect(output.exitCode).to.equal(1);
    });

    it('refuses what make run cannot select', async () => {
      const endpoints = {} as EndpointsFile;
      const run = { ...target, place: { kind: 'run', folder: '.berth', endpoints } } as const;
      for (const [values, flag] of [
        [{ since: '5m' }, 'json'],
        [{}, 'previous'],
      ] as const) {
        const request = readLogRequest({ values, flags: new Set([flag]) });
        const error = await refusal(printLogs(run, 'chat', request, recordOutput().output));
        expect(error.message).to.match(/^make run has one log per container.*--tail/);
      }
    });
  });

  describe('deploy', () => {
    const run = async (args: string[], isJSON = false) => {
      const { output, printed } = recordOutput(isJSON);
      const line = readCommandLine(['deploy', ...args], '');
      if (line.kind !== 'run') throw new Error(line.text);
      if (!printManifest(line.invocation, output)) await deploy(target, line.invocation, output);
      return { output, printed };
    };
    /** As the operator would, once the deployment is there. */
    const answerWith = (conditions: object[]) =>
      target.api.store.listen(({ key, type, object }) => {
        if (key !== MODELS || type !== 'ADDED') return;
        setImmediate(() =>
          setConditions(target, MODELS, object.metadata.name, {
            observedGeneration: 1,
            phase: 'Ready',
            url: 'http://127.0.0.1:1/v1',
            conditions,
          }),
        );
      });

    it('lists the catalog, each model with what was checked of it and where it was run', async () => {
      const { printed } = await run([]);
      expect(printed.out).to.match(/^NAME +KIND +ENGINE +GPUS +FLAGS CHECKED +RUN ON +MODEL$/m);
      expect(printed.out).to.match(/^qwen3-8b +LLM +vllm +1 +vLLM 0\.33\.0 +not run +qwen\/qwen3-8b$/m);
      expect(printed.out).to.match(/^simulator-chat +LLM +simulator +simulated +none +/m);
      const models = JSON.parse((await run([], true)).printed.out);
      expect(models[0]).to.include({ name: 'qwen3-small', gpus: 0, proof: null });
    });

    it('prints a manifest', async () => {
      const { printed } = await run(['qwen3-8b', '--print']);
      expect(printed.out).to.include('repo: Qwen/Qwen3-8B');
    });

    it('deploys a model of the catalog into the namespace, and waits until it is ready', async () => {
      const stop = answerWith([{ type: 'Ready', status: 'True' }]);
      const { printed, output } = await run(['simulator-chat']).finally(stop);
      expect(printed.error).to.include('ModelDeployment simulator-chat is applied in team.');
      expect(printed.out).to.equal(
        'simulator-chat is ready: http://127.0.0.1:1/v1\nA key for it: berth key -n team\n',
      );
      expect(output.exitCode).to.equal(0);
    });

    it('says why one does not become ready, and ends with 5', async () => {
      const stop = answerWith([
        {
          type: 'Ready',
          status: 'False',
          reason: 'ErrImagePull',
          message: 'engine image x cannot be pulled',
        },
        { type: 'Stalled', status: 'True' },
      ]);
      const { printed, output } = await run(['simulator-chat'], true).finally(stop);
      expect(JSON.parse(printed.out)).to.include({
        ready: false,
        sentence: 'engine image x cannot be pulled',
      });
      expect(output.exitCode).to.equal(5);
    });

    it("repeats the API server's refusal", async () => {
      const file = join(folder, 'wrong.yaml');
      const manifest = readFileSync('examples/simulator-chat.yaml', 'utf8').replace(
        'kind: LLM',
        'kind: LLMs',
      );
      writeFileSync(file, manifest.replace('namespace: default', 'namespace: team'));
      expect((await refusal(run([file]))).message).to.match(/422 Invalid: [\s\S]*LLMs/);
      expect((await refusal(run([file, '-n', 'other']))).message).to.match(
        /of the namespace team, not other$/,
      );
    });

    it('takes over fields of others only if it is told to', async () => {
      addDeployment('simulator-chat', { status: 'True' });
      const error = await refusal(run(['simulator-chat', '--no-wait']));
      expect(error.message).to.match(/409 Conflict: .*; --force-conflicts takes these fields over$/);
      const { printed } = await run(['simulator-chat', '--no-wait', '--force-conflicts']);
      expect(printed.error).to.match(
        /^Deploys to the context test\.\nModelDeployment simulator-chat is applied/,
      );
    });

    it('says what is not applied after a refusal', async () => {
      const file = join(folder, 'several.yaml');
      const chat = readFileSync('examples/simulator-chat.yaml', 'utf8').replace('namespace: default', '');
      const other = chat.replace('name: simulator-chat', 'name: other');
      writeFileSync(file, [chat.replace('kind: LLM', 'kind: LLMs'), other].join('\n---\n'));
      expect((await refusal(run([file]))).message).to.match(
        /422 [\s\S]*; not applied either: ModelDeployment other$/,
      );
    });

    it('says so where Berth is not installed', async () => {
      const apply = (() =>
        Promise.reject(
          new KubeApiError(
            { code: 404, reason: 'NotFound', call: 'apply' },
            'the server could not find the requested resource',
          ),
        )) as typeof target.client.apply;
      const bare = { ...target, client: { ...target.client, apply } };
      const line = readCommandLine(['deploy', 'simulator-chat'], '');
      if (line.kind !== 'run') throw new Error(line.text);
      const error = await refusal(deploy(bare, line.invocation, recordOutput().output));
      expect(error).to.include({ kind: 'unreachable' });
      expect(error.message).to.match(/^Berth is not installed in the cluster of the context test/);
    });

    it('does not wait for a route that does not come', async () => {
      addDeployment('chat', { status: 'False', reason: 'NoIngress', message: 'nothing serves the Ingress' });
      setConditions(target, MODELS, 'chat', {
        phase: 'Unrouted',
        observedGeneration: 1,
        conditions: [{ type: 'Ready', status: 'False', message: 'nothing serves the Ingress' }],
      });
      const { output, printed } = recordOutput();
      await waitUntilReady(target, 'chat', { deadline: Infinity, output, routeMs: 0 });
      expect(printed.out).to.include('nothing serves the Ingress');
      expect(output.exitCode).to.equal(5);
    });

    it('goes on waiting after a call that failed', async () => {
      addDeployment('chat', { status: 'True' });
      let calls = 0;
      const get = target.client.get;
      const failing = ((...args: Parameters<typeof get>) => {
        if (calls++ > 0) return get(...args);
        return Promise.reject(new KubeApiError({ code: 503, reason: 'Unavailable', call: 'get' }, 'rolling'));
      }) as typeof get;
      const { output, printed } = recordOutput();
      const flaky = { ...target, client: { ...target.client, get: failing } };
      await waitUntilReady(flaky, 'chat', { deadline: Infinity, output });
      expect(printed.error).to.include('chat: get: 503');
      expect(printed.out).to.include('chat is ready');
    });

    it('refuses what is no file, no name and no kind that it deploys', async () => {
      expect((await refusal(run([folder]))).message).to.include('is neither a file nor in the catalog');
      writeFileSync(join(folder, 'empty.yaml'), '# nothing\n');
      expect(await refusal(run([join(folder, 'empty.yaml')]))).to.include({ kind: 'usage' });
      expect((await refusal(run(['qwen']))).message).to.match(/^qwen is neither a file nor in the catalog/);
      const file = join(folder, 'pod.yaml');
      writeFileSync(file, 'apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n');
      expect((await refusal(run([file]))).message).to.include('apply the rest with kubectl');
    });
  });
});
