/** A member operates a deployment: its replicas, its manifest, its size; each page hears of changes. */
import { expect } from 'chai';
import { channels } from '../../../api/redis-keys.ts';
import { pollUntil } from '../../support/poll.ts';
import { type Person, useConsole } from './console-harness.ts';

const GROUP_PATH = '/apis/berth.dev/v1alpha1/namespaces';

describe('a console that operates deployments', () => {
  const harness = useConsole();
  let namespace: string;
  let member: Person;

  const kube = async (method: Parameters<typeof harness.kube>[0], path: string, body?: object) => {
    const answer = await harness.kube(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.be.below(300);
    return answer.body;
  };
  const pathOf = (rest: string) => `/api/namespaces/${namespace}/${rest}`;
  const objectPath = (name: string) => `${GROUP_PATH}/${namespace}/modeldeployments/${name}`;
  const write = (name: string, spec: object = {}) => ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name },
    spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' }, ...spec },
  });
  const create = (name: string, spec = {}) =>
    member.call('POST', pathOf('deployments'), { manifest: write(name, spec) });
  const makePod = async (name: string, deployment: string, status: object) => {
    const labels = { 'berth.dev/deployment': deployment, 'app.kubernetes.io/component': 'model' };
    const resources = { limits: { 'nvidia.com/gpu': '2' } };
    const containers = [{ name: 'engine', image: 'e', resources }];
    const initContainers = [{ name: 'gateway', image: 'g', restartPolicy: 'Always' }];
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    await kube('POST', pods, {
      metadata: { name, labels },
      spec: { nodeName: 'node-1', containers, initContainers },
    });
    await kube('PATCH', `${pods}/${name}/status`, { status });
  };

  before(async () => {
    const made = await harness.makeMember();
    namespace = made.namespace;
    await kube('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      metadata: { name: 'default' },
    }).catch(() => {});
    member = await harness.signIn(made.token);
  });

  it('tries a manifest without storing it, then creates it as the member', async () => {
    const tried = await member.call('POST', pathOf('deployments/dry-run'), { manifest: write('first') });
    expect(tried.status, JSON.stringify(tried.body)).to.equal(200);
    expect(tried.body.manifest.spec.paused).to.equal(false);
    expect((await harness.kube('GET', objectPath('first'))).status).to.equal(404);
    expect((await create('first')).status).to.equal(201);
    const { metadata } = await kube('GET', objectPath('first'));
    expect(metadata.managedFields[0].manager).to.match(/^berth-console:/);
  });

  for (const [what, manifest, message] of [
    ['no object', 'text', /body/],
    ['another kind', { ...write('x'), kind: 'Pod' }, /ModelDeployment/],
    ['another namespace', { ...write('x'), metadata: { name: 'x', namespace: 'kube-system' } }, /namespace/],
    ['a finalizer', { ...write('x'), metadata: { name: 'x', finalizers: ['a/b'] } }, /finalizers/],
    ['a status', { ...write('x'), status: { url: 'https://elsewhere.example' } }, /status/],
    ['unknown fields', write('x', { nonsense: true }), /nonsense/],
    ['a spec that is wrong', write('x', { replicas: -1 }), /replicas/],
  ] as const)
    it(`refuses ${what}, and says why`, async () => {
      const answer = await member.call('POST', pathOf('deployments/dry-run'), { manifest });
      expect(answer.status, JSON.stringify(answer.body)).to.be.within(400, 422);
      expect(answer.body.error.message).to.match(message);
    });

  it('refuses a manifest nested without end', async () => {
    const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const body = `{"manifest":${JSON.stringify(write('x')).replace('"m"', nested)}}`;
    expect((await member.call('POST', pathOf('deployments/dry-run'), body)).status).to.be.within(400, 422);
  });

  it('shows a manifest without status, and replaces it if nobody else did meanwhile', async () => {
    await create('edited');
    await kube('PATCH', objectPath('edited'), { metadata: { finalizers: ['berth.dev/cleanup'] } });
    const { body } = await member.call('GET', pathOf('deployments/edited/manifest'));
    expect(body.manifest).to.have.all.keys('apiVersion', 'kind', 'metadata', 'spec');
    expect(body.manifest.metadata).to.deep.equal({ name: 'edited', namespace });
    // The status is not what is edited.
    await kube('PATCH', `${objectPath('edited')}/status`, { status: { phase: 'Starting' } });
    const { manifest, version } = body;
    const change = { manifest: { ...manifest, spec: { ...manifest.spec, replicas: 3 } }, version };
    const tried = await member.call('POST', pathOf('deployments/edited/dry-run'), change);
    expect(tried.body.manifest.spec.replicas).to.equal(3);
    expect((await kube('GET', objectPath('edited'))).spec.replicas).to.equal(undefined);
    expect((await member.call('PUT', pathOf('deployments/edited'), change)).status).to.equal(200);
    const stored = await kube('GET', objectPath('edited'));
    expect(stored.spec.replicas).to.equal(3);
    expect(stored.metadata.finalizers).to.deep.equal(['berth.dev/cleanup']);
    expect(stored.status.phase).to.equal('Starting');
    const late = await member.call('PUT', pathOf('deployments/edited'), change);
    expect(late.status).to.equal(409);
    expect(late.body.error.message).to.include('changed meanwhile');
    await kube('PATCH', objectPath('edited'), { metadata: { finalizers: [] } });
  });

  it('pauses, resumes and scales, also within the bounds of the autoscaler', async () => {
    await create('sized', { replicas: 1 });
    const paused = await member.call('PATCH', pathOf('deployments/sized'), { paused: true });
    expect(paused.body).to.include({ isPaused: true });
    const scaled = await member.call('PATCH', pathOf('deployments/sized'), { paused: false, replicas: 4 });
    expect(scaled.body).to.deep.include({ isPaused: false, size: { replicas: 4 } });
    await create('scaled', { scaling: { min: 0, max: 2 } });
    const bounds = { min: 1, max: 5 };
    const answer = await member.call('PATCH', pathOf('deployments/scaled'), { scaling: bounds });
    expect(answer.body.size).to.deep.equal(bounds);
    const wrong = await member.call('PATCH', pathOf('deployments/scaled'), { scaling: { min: 3, max: 2 } });
    expect(wrong.body.error.message).to.include('must not exceed');
  });

  it('shows replicas with node, GPUs, state and restarts, and none of another deployment', async () => {
    const last = { terminated: { reason: 'OOMKilled', exitCode: 137, finishedAt: '2026-01-01T00:00:00Z' } };
    await makePod('busy-5d4f8-aaaaa', 'busy', {
      phase: 'Running',
      conditions: [{ type: 'PodScheduled', status: 'True' }],
      containerStatuses: [
        {
          name: 'engine',
          image: 'e',
          imageID: '',
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
          lastState: last,
        },
      ],
    });
    await makePod('other-5d4f8-bbbbb', 'other', { phase: 'Pending' });
    const { body } = await member.call('GET', pathOf('deployments/busy/replicas'));
    expect(body).to.have.length(1);
    expect(body[0]).to.deep.include({
      name: 'busy-5d4f8-aaaaa',
      state: 'failing',
      message: 'engine: back-off 40s',
      node: 'node-1',
      gpu: '2 × nvidia.com/gpu',
      restarts: 3,
      lastExit: { reason: 'OOMKilled', exitCode: 137, at: '2026-01-01T00:00:00Z' },
      containers: ['engine', 'gateway'],
    });
  });

  it('shows the events of a deployment and its pods, newest first', async () => {
    const tell = (kind: string, name: string, minute: number) =>
      kube('POST', `/api/v1/namespaces/${namespace}/events`, {
        metadata: { generateName: 'e-' },
        involvedObject: { kind, name, namespace },
        reason: `Minute${minute}`,
        message: 'Something happened.',
        type: 'Warning',
        lastTimestamp: `2026-01-01T00:0${minute}:00Z`,
        count: 2,
      });
    await tell('Pod', 'busy-5d4f8-aaaaa', 1);
    await tell('ModelDeployment', 'busy', 2);
    await tell('Pod', 'busy-too-5d4f8-aaaaa', 3);
    const { body } = await member.call('GET', pathOf('deployments/busy/events'));
    expect(body.map(({ reason }: { reason: string }) => reason)).to.deep.equal(['Minute2', 'Minute1']);
    expect(body[1]).to.deep.include({ object: 'Pod busy-5d4f8-aaaaa', count: 2, isWarning: true });
  });

  it('tells open pages what changed', async () => {
    const made = await harness.makeMember();
    const person = await harness.signIn(made.token);
    const leaving = new AbortController();
    const response = await fetch(`${harness.origin}/api/namespaces/${made.namespace}/live`, {
      headers: { cookie: person.cookie },
      signal: leaving.signal,
    });
    expect(response.headers.get('content-type')).to.match(/^text\/event-stream/);
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
    })();
    const isWatched = (topic: string) => new RegExp(`"watched":[^\\]]*"${topic}"`).test(text);
    await pollUntil(async () => ['deployments', 'replicas', 'events'].every(isWatched), 'all to be watched');
    text = '';
    const path = `/api/namespaces/${made.namespace}/deployments`;
    expect((await person.call('POST', path, { manifest: write('new') })).status).to.equal(201);
    await pollUntil(async () => /"changed":\["deployments"\]/.test(text), 'news of the deployment');
    const { redis } = harness.redis;
    await redis.publish(channels.jobs('another', 'new'), '1');
    await redis.publish(channels.jobs(made.namespace, 'new'), '1');
    await pollUntil(async () => text.includes('"changed":["requests"]'), 'news of a request');
    await redis.publish(channels.events(made.namespace), '1');
    await pollUntil(async () => text.includes('"changed":["requests","deliveries"]'), 'news of an event');
    leaving.abort();
    await reading.catch(() => {});
  });

  it('has a member keep no more than 20 pages up to date', async () => {
    const made = await harness.makeMember();
    const person = await harness.signIn(made.token);
    const leaving = new AbortController();
    const open = () =>
      fetch(`${harness.origin}/api/namespaces/${made.namespace}/live`, {
        headers: { cookie: person.cookie },
        signal: leaving.signal,
      });
    const answers = await Promise.all(Array.from({ length: 21 }, open));
    expect(answers.map(({ status }) => status).filter((status) => status === 429)).to.have.length(1);
    leaving.abort();
    await pollUntil(async () => {
      const { status, body } = await fetch(`${harness.origin}/api/namespaces/${made.namespace}/live`, {
        headers: { cookie: person.cookie },
      });
      await body?.cancel();
      return status === 200;
    }, 'a place for another page');
  });

  it('ends the streams of a session at once when it is signed out', async () => {
    const made = await harness.makeMember();
    const person = await harness.signIn(made.token);
    const { status, body } = await fetch(`${harness.origin}/api/namespaces/${made.namespace}/live`, {
      headers: { cookie: person.cookie },
    });
    expect(status).to.equal(200);
    const ended = body!.pipeTo(new WritableStream()).then(
      () => 'whole',
      () => 'cut',
    );
    await person.call('DELETE', '/api/session');
    expect(await ended).to.equal('cut');
  });

  it('shows nothing of pods to who may not list them', async () => {
    const other = await harness.makeMember();
    const stranger = await harness.signIn(other.token);
    for (const path of ['replicas', 'events', 'manifest'])
      expect((await stranger.call('GET', pathOf(`deployments/busy/${path}`))).status, path).to.equal(403);
    expect((await stranger.call('GET', pathOf('live'))).status).to.equal(403);
  });
});
