import { expect } from 'chai';
import { LABELS } from '../../api/names.ts';
import { projectImages } from '../../cluster/images.ts';
import { tagImage } from '../../cluster/node.ts';
import { postChat } from './envelope.ts';
import {
  changeRelease,
  cluster,
  findEndpoint,
  isPodReady,
  listPods,
  proveReconciling,
} from './installation.ts';

const NEWER = 'localhost/berth/berth:99.0.0';

describe('an upgrade of the chart', function () {
  this.timeout(600_000);
  const describePods = async () =>
    (await listPods(LABELS.deployment)).map(({ metadata, spec }) => ({
      name: metadata.name,
      uid: metadata.uid,
      images: spec.containers.map(({ image }) => image),
    }));

  before(async () => {
    const [image] = projectImages();
    await tagImage(cluster.name, image!.name, NEWER);
  });

  it('to a newer image restarts no model pod', async () => {
    const before = await describePods();
    expect(before).to.not.be.empty;
    const [repository, tag] = NEWER.split(/:(?=[^/]+$)/);
    await changeRelease({ image: { repository, tag, pullPolicy: 'Never' } });
    await proveReconciling('e2e-upgrade', 90);
    expect(await describePods()).to.deep.equal(before);
    expect((await listPods(LABELS.deployment)).every(isPodReady)).to.equal(true);
    expect((await postChat(findEndpoint('tiny-chat'))).status).to.equal(200);
  });
});
