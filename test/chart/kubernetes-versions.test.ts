/** What the oldest and the newest supported Kubernetes refuse of what Berth creates, by their own libraries. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { modelDeployment } from '../../api/model-deployment.ts';
import { ensureBinary } from '../../cluster/binaries.ts';
import { build } from '../unit/operator/resources/fixtures.ts';
import { type Manifest, render, setting } from './render.ts';

const MODFILES = { oldest: 'oldest.mod', newest: 'go.mod' } as const;
type Age = keyof typeof MODFILES;

const readVersion = (age: Age): string => {
  const requirements = readFileSync(`cluster/go/manifestcheck/${MODFILES[age]}`, 'utf8');
  return /k8s\.io\/apiextensions-apiserver v0\.(\d+\.\d+)/.exec(requirements)![1]!;
};

const CRDS = readdirSync('crds').map((file) => parse(readFileSync(`crds/${file}`, 'utf8')));

/** Values that render every template. */
const EVERYTHING = setting(
  'sidecarRollout.enabled=true',
  'redis.bundled.backup.enabled=true',
  'redis.bundled.backup.claim=copies',
  'metrics.dashboards.enabled=true',
);

/** Kubernetes' own kinds: others come with their controllers. */
function isBuiltIn({ apiVersion, kind }: Manifest): boolean {
  const group: string = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  const isOwn = !group.includes('.') || (group.endsWith('.k8s.io') && group !== 'gateway.networking.k8s.io');
  return isOwn && kind !== 'CustomResourceDefinition';
}

/** An image volume needs a later version, as docs/operations.md says. */
const usesImageVolume = (object: object): boolean => /"image":\{"reference"/.test(JSON.stringify(object));

/** The children of every example model. */
function buildExamples(): object[] {
  const documents = readdirSync('examples')
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(`examples/${file}`, 'utf8')))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'ModelDeployment')
    .map((object) => modelDeployment.parse({ ...object, metadata: { ...object.metadata, uid: 'u' } }));
  return documents
    .map((model) => build(model, { allowedHosts: [], allowedAnnotations: [] }))
    .flatMap(({ objects, prefetchJob }) => [...objects, ...(prefetchJob ? [prefetchJob] : [])]);
}

describe('what Berth creates', () => {
  for (const age of ['oldest', 'newest'] as const)
    describe(`on Kubernetes 1.${readVersion(age)}, the ${age} of those supported`, () => {
      let program: string;
      before(async () => {
        program = await ensureBinary(`manifestcheck-${age}`);
      });
      const check = (objects: object[]): string[] => {
        const input = objects.map((object) => stringify(object)).join('---\n');
        const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' });
        expect(status, stderr).to.be.oneOf([0, 1]);
        const lines = stdout.trimEnd().split('\n');
        expect(lines.pop()).to.equal(`checked ${objects.length}`);
        return lines;
      };

      it('has custom resources that are taken', () => {
        expect(CRDS).to.have.length(5);
        expect(check(CRDS)).to.deep.equal([]);
      });

      it('has no kind or field in the chart that is unknown', async () => {
        const version = `1.${readVersion(age)}`;
        const objects = (await render(...EVERYTHING, '--kube-version', version)).filter(isBuiltIn);
        expect(objects).to.have.length.above(30);
        expect(check(objects)).to.deep.equal([]);
      });

      it('has no field in the objects of a deployment that is unknown', () => {
        const objects = buildExamples().filter((object: Manifest) => isBuiltIn(object));
        const served = age === 'oldest' ? objects.filter((object) => !usesImageVolume(object)) : objects;
        expect(served).to.have.length.above(30);
        expect(check(served)).to.deep.equal([]);
      });

      it('tells what is unknown', () => {
        const unknown = {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'x' },
          spec: { ports: [], of: 1 },
        };
        expect(check([unknown]).join()).to.match(/Service x: .*unknown field "spec.of"/);
      });
    });

  it('has no rule whose cost the oldest refuses', async () => {
    // What it makes of a comparison of whole objects.
    const [definition] = structuredClone(
      CRDS.filter(({ metadata }) => /^modeldeployments/.test(metadata.name)),
    );
    const [rule] = definition.spec.versions[0].schema.openAPIV3Schema['x-kubernetes-validations'];
    rule.rule = `dyn(optional.none()) != dyn(oldSelf) || ${rule.rule.split('||')[1]}`;
    const { stdout } = spawnSync(await ensureBinary('manifestcheck-oldest'), {
      input: stringify(definition),
      encoding: 'utf8',
    });
    expect(stdout).to.match(/estimated rule cost exceeds budget/);
  });

  it('has the oldest as the lowest version of the chart', () => {
    const { kubeVersion } = parse(readFileSync('charts/berth/Chart.yaml', 'utf8'));
    expect(kubeVersion).to.equal(`>=1.${readVersion('oldest').split('.')[0]}.0-0`);
  });
});
