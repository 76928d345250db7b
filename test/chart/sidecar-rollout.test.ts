import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { ensureBinary } from '../../cluster/binaries.ts';
import { parseSidecarRollout } from '../../operator/sidecar/settings.ts';
import { IMAGES } from './render.ts';

const run = promisify(execFile);

interface Manifest {
  kind: string;
  metadata: { name: string };
  rules?: { resources: string[]; resourceNames?: string[]; verbs: string[] }[];
  spec?: { template: { spec: { containers: { env: { name: string; value: string }[] }[] } } };
}

describe("the chart's sidecarRollout", () => {
  let helm: string;
  before(async () => {
    helm = await ensureBinary('helm');
  });

  async function render(...values: string[]): Promise<Manifest[]> {
    const sets = values.flatMap((value) => ['--set', value]);
    const args = ['template', 'berth', 'charts/berth', '--namespace', 'berth', '--set', IMAGES, ...sets];
    const { stdout } = await run(helm, args, { maxBuffer: 64 * 1024 * 1024 });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  }
  const find = (manifests: Manifest[], kind: string, name: string) =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  const settingOf = (manifests: Manifest[]) =>
    find(manifests, 'Deployment', 'berth-operator')!.spec!.template.spec.containers[0]!.env.find(
      ({ name }) => name === 'OPERATOR_SIDECAR_ROLLOUT',
    )?.value;
  const ruleOf = (manifests: Manifest[]) =>
    find(manifests, 'Role', 'berth-operator-own')!.rules!.find(({ resources }) =>
      resources.includes('configmaps'),
    );

  it('is off, and gives the operator no rights for it', async () => {
    const manifests = await render();
    expect(settingOf(manifests)).to.equal(undefined);
    expect(ruleOf(manifests)).to.equal(undefined);
    expect(find(manifests, 'ConfigMap', 'berth-sidecar-rollout')).to.equal(undefined);
  });

  it('configures what the operator may roll and when, with permission to write why it stopped', async () => {
    const manifests = await render(
      'sidecarRollout.enabled=true',
      'sidecarRollout.maxConcurrent=3',
      'sidecarRollout.window.from=22:00',
      'sidecarRollout.window.to=05:00',
      'sidecarRollout.window.days={Mon,Tue}',
    );
    expect(parseSidecarRollout(JSON.parse(settingOf(manifests)!))).to.deep.include({
      maxConcurrent: { count: 3 },
      window: { days: ['Mon', 'Tue'], from: 22 * 60, to: 5 * 60, timeZone: 'UTC' },
      configMap: 'berth-sidecar-rollout',
    });
    expect(find(manifests, 'ConfigMap', 'berth-sidecar-rollout')).to.not.equal(undefined);
    expect(ruleOf(manifests)).to.deep.include({
      resourceNames: ['berth-sidecar-rollout'],
      verbs: ['get', 'patch'],
    });
  });

  it('has defaults that the operator takes as its own', async () => {
    const settings = parseSidecarRollout(JSON.parse(settingOf(await render('sidecarRollout.enabled=true'))!));
    expect(settings).to.deep.equal(parseSidecarRollout({ enabled: true }));
  });

  for (const value of ['maxConcurrent=0', 'window.from=9:00', 'window.days={Monday}', 'budget=1'])
    it(`refuses ${value}`, async () => {
      const refusal = await render(`sidecarRollout.${value}`).then(
        () => '',
        ({ stderr }: { stderr: string }) => stderr,
      );
      expect(refusal).to.include('sidecarRollout');
    });
});
