import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../api/names.ts';
import { build, makeModel } from './fixtures.ts';

const QUEUE = 'kueue.x-k8s.io/queue-name';
const PRIORITY = 'kueue.x-k8s.io/priority-class';
const label = (labels: Record<string, string>, spec: object = {}) =>
  build(makeModel(spec, { labels: { team: 'search', ...labels } }));
const inputsOf = ({ deploymentObject }: ReturnType<typeof build>) =>
  deploymentObject.metadata.annotations![ANNOTATIONS.templateInputs];

describe("Kueue's labels of a ModelDeployment", () => {
  it('are on its pods, and not on the Deployment, where they could not be changed anymore', () => {
    const { template, deploymentObject } = label({ [QUEUE]: 'gpus', [PRIORITY]: 'high' });
    expect(template.metadata!.labels).to.include({ [QUEUE]: 'gpus', [PRIORITY]: 'high' });
    expect(deploymentObject.metadata.labels).not.to.have.any.keys(QUEUE, PRIORITY);
  });

  it('are the only labels that pods take from it', () => {
    const prebuilt = 'kueue.x-k8s.io/prebuilt-workload-name';
    const { template } = label({ [QUEUE]: 'gpus', [prebuilt]: 'other' });
    expect(template.metadata!.labels).not.to.have.any.keys('team', prebuilt);
  });

  it('yield to those of spec.template', () => {
    const spec = { template: { labels: { [QUEUE]: 'own' } } };
    const overridden = label({ [QUEUE]: 'gpus' }, spec);
    expect(overridden.template.metadata!.labels).to.include({ [QUEUE]: 'own' });
    expect(inputsOf(overridden), 'no restart').to.equal(inputsOf(label({}, spec)));
  });

  it('roll the pods when they change, and other labels do not', () => {
    expect(inputsOf(label({}))).to.equal(inputsOf(build()));
    const queued = label({ [QUEUE]: 'gpus' });
    expect(inputsOf(queued)).not.to.equal(inputsOf(build()));
    const moved = build(
      makeModel({}, { labels: { [QUEUE]: 'others' } }),
      {},
      { deployment: queued.deploymentObject as never },
    );
    expect(moved.template.metadata!.labels).to.include({ [QUEUE]: 'others' });
  });
});
