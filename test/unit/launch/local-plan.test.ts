import { expect } from 'chai';
import { writeGuide } from '../../../launch/guide.ts';
import { describeEndpoints, planLocal } from '../../../launch/local-plan.ts';
import { readManifests } from '../../../launch/manifests.ts';

const MASTER_KEY = 'k'.repeat(43);

describe('what make run serves of its examples', () => {
  const { deployments } = readManifests(['examples/local']);
  const plan = planLocal(deployments, 8100);
  const credentials = [
    { namespace: 'default', id: 1, bucket: 'customer', fault: null },
    { namespace: 'default', id: 2, bucket: 'customer', fault: 'bucket customer is refused' },
    { namespace: 'other', id: 3, bucket: 'theirs', fault: null },
  ];
  const keys = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const buckets = [{ endpoint: 'http://127.0.0.2:8194', bucket: 'customer', keys }];
  const instance = {
    plan,
    masterKey: MASTER_KEY,
    signingSecret: 'whsec_local',
    token: 'sign-in',
    hasConsole: true,
  };
  const endpoints = describeEndpoints({ ...instance, credentials, buckets });
  const ofKind = (kind: string) => endpoints.deployments.filter((entry) => entry.kind === kind);

  it('gives no port twice', () => {
    const { deployments, ...ports } = plan;
    const all = [
      ...Object.values(ports),
      ...deployments.flatMap(({ port, enginePort, controlPort }) =>
        [port, enginePort, controlPort ?? []].flat(),
      ),
    ];
    expect(new Set(all).size).to.equal(all.length);
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

  it('tells which storage credentials of the workspace work', () => {
    expect(endpoints.storageCredentials).to.deep.equal([
      { id: 1, verified: true, bucket: 'customer' },
      { id: 2, verified: false, bucket: 'customer' },
    ]);
    expect(endpoints.s3).to.deep.equal({ endpoint: 'http://127.0.0.2:8194', bucket: 'customer', ...keys });
  });

  it('says null where there is no S3 server', () => {
    const bare = describeEndpoints({ ...instance, credentials: [], buckets: [] });
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

  it('says where the console is, and what signs in to it', () => {
    expect(writeGuide(endpoints)).to.include(
      'Console: http://127.0.0.1:8196 – sign in with the token\n  sign-in',
    );
    const entered = { ...endpoints, cluster: { kubeconfig: '', exec: ['enter'] } };
    expect(writeGuide(entered)).to.include('enter chromium --no-sandbox http://127.0.0.1:8196');
  });
});
