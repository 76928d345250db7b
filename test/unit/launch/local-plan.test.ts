import { expect } from 'chai';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { writeGuide } from '../../../launch/guide.ts';
import { type CustomerBucket, describeBuckets } from '../../../launch/local-buckets.ts';
import { describeEndpoints } from '../../../launch/local-endpoints.ts';
import { applyLocalObjects, describeBucketObjects } from '../../../launch/local-objects.ts';
import { isApartFromPods, listPodPorts, listPorts, planPorts } from '../../../launch/local-plan.ts';
import { readLocalTypes, validateObject } from '../../../launch/local-resources.ts';
import { readManifests } from '../../../launch/manifests.ts';

const MASTER_KEY = 'k'.repeat(43);

describe('what make run serves of its examples', () => {
  const ports = planPorts(8100);
  const buckets: CustomerBucket[] = describeBuckets(ports.buckets);
  const describeWith = (buckets: CustomerBucket[]) => {
    const api = new MemoryApi({ types: readLocalTypes(), validate: validateObject });
    const manifests = readManifests(['examples/local']);
    applyLocalObjects(api, [
      ...manifests,
      ...buckets.flatMap((bucket) => describeBucketObjects(bucket, 'default')),
    ]);
    const data = { secret: Buffer.from('whsec_local').toString('base64') };
    const metadata = { name: 'berth-signing-secret', namespace: 'default' };
    api.create('secrets', { apiVersion: 'v1', kind: 'Secret', metadata, data });
    const at = { namespace: 'default', name: 'customer' };
    const conditions = [
      {
        type: 'Verified',
        status: 'True',
        reason: 'Verified',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    if (buckets.length > 0)
      api.patch(
        'storagecredentials.berth.dev',
        at,
        { status: { conditions } },
        { type: 'merge', subresource: 'status' },
      );
    const names = manifests.map(({ object: { metadata } }) => `${metadata.namespace}/${metadata.name}`);
    return describeEndpoints({
      api,
      ports,
      masterKey: MASTER_KEY,
      token: 'sign-in',
      hasConsole: true,
      buckets,
      portOf: ({ namespace, name }) => ports.firstEndpoint + names.indexOf(`${namespace}/${name}`),
      addressOf: () => undefined,
    });
  };
  const endpoints = describeWith(buckets);
  const ofKind = (kind: string) => endpoints.deployments.filter((entry) => entry.kind === kind);

  it('gives no port twice', () => {
    const all = listPorts(ports, ports.endpoints);
    expect(new Set(all).size).to.equal(all.length);
  });

  it("keeps services that pods call apart from ports of pods, which would be taken for the pods' own", () => {
    const engine = (port: number) => ({ file: '', object: { ...bareModel, spec: { engine: { port } } } });
    const bareModel = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'one' },
    };
    const isApart = (base: number, manifests = readManifests(['examples/local'])) =>
      isApartFromPods(planPorts(base), listPodPorts(manifests));
    expect(isApart(8100)).to.equal(true);
    // Redis on the metrics port, and on the engine's; the storage service on the simulator's control port.
    for (const base of [9000, 7910, 9002]) expect(isApart(base), String(base)).to.equal(false);
    expect([isApart(30_000), isApart(30_000, [engine(30_090)])]).to.deep.equal([true, false]);
  });

  it('has an image model that takes images and one that does not, with their sizes', () => {
    expect(ofKind('Image').map(({ imageInput }) => imageInput)).to.have.members([true, false]);
    for (const { sizes } of ofKind('Image')) expect(sizes).to.include('1024x1024');
  });

  it('has a video model of a fixed length and one without, with their resolutions', () => {
    expect(ofKind('Video').map(({ native }) => native)).to.deep.include.members([
      { seconds: 5, fps: 16 },
      null,
    ]);
    for (const { resolutions } of ofKind('Video')) expect(resolutions).to.include('720x1280');
  });

  it('has chats and images in the other workspaces', () => {
    for (const workspace of [endpoints.otherWorkspace, endpoints.exhaustedWorkspace])
      expect(workspace!.deployments.map(({ kind }) => kind)).to.deep.equal(['LLM', 'Image']);
  });

  it('lists which storage credentials of the workspace work', () => {
    expect(endpoints.storageCredentials).to.deep.equal([
      { id: 1, verified: true, bucket: 'customer' },
      { id: 2, verified: false, bucket: 'customer' },
    ]);
    const { keys } = buckets[0]!;
    expect(endpoints.s3).to.deep.equal({ endpoint: 'http://127.0.0.2:8194', bucket: 'customer', ...keys });
  });

  it('says null where there is no S3 server', () => {
    const bare = describeWith([]);
    expect([bare.storageCredentials, bare.s3]).to.deep.equal([null, null]);
  });

  it('shows lines for a chat, an image and a video, those for a video as its model takes it', () => {
    const guide = writeGuide(endpoints);
    for (const path of ['/chat/completions', '/images/generations', '/videos'])
      expect(guide).to.include(path);
    expect(guide).to.include('-F seconds=5 -F fps=16');
  });

  it('says where a receiver of webhooks may listen, with a command for it and a request that calls it', () => {
    expect(endpoints.webhooks).to.deep.equal({
      signingSecret: 'whsec_local',
      receiverHost: '127.0.0.1',
      plainHTTP: true,
    });
    const guide = writeGuide(endpoints);
    expect(guide).to.include('SIGNING_SECRET=whsec_local PORT=4000 node examples/webhooks/receiver.mjs');
    expect(guide).to.include('-F webhook_url=http://127.0.0.1:4000/');
  });

  it('names the folder that it is kept in, in the line for another key too', () => {
    expect(writeGuide(endpoints)).to.include(
      'keys: .berth/endpoints.json. Another key: make key RPM=60 TPD=100000',
    );
    expect(writeGuide(endpoints, '/tmp/mine')).to.include(
      'keys: /tmp/mine/endpoints.json. Another key: BERTH_STATE=/tmp/mine make key RPM=60',
    );
    expect(writeGuide(endpoints, '/tmp/mine')).not.to.include('.berth/');
  });

  it('begins with a link that signs in to the console; in a cluster it says what does', () => {
    expect(writeGuide(endpoints)).to.match(
      /^Console, signed in:\n {2}http:\/\/127\.0\.0\.1:8196\/#token=sign-in\n/,
    );
    const entered = { ...endpoints, mode: 'cluster' as const, cluster: { kubeconfig: '', exec: ['enter'] } };
    expect(writeGuide(entered)).to.include('enter chromium --no-sandbox http://127.0.0.1:8196');
  });

  it('prints each key once, and that the models are simulated', () => {
    const [first] = endpoints.deployments;
    const simulated = { ...endpoints, deployments: [{ ...first!, simulatorURL: 'http://127.0.0.1:1' }] };
    expect(writeGuide(simulated)).to.match(/These models are simulated/);
    expect(writeGuide(endpoints)).to.not.match(/simulated/);
    expect(writeGuide(endpoints).split(first!.apiKey)).to.have.length(2);
  });
});
