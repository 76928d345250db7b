import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { llm, MANIFESTS, type Manifest, type Spec } from '../../support/admission/manifests.ts';
import { ANSWERS_FILE, type Answer, ask, keyOf, readAnswers } from '../../support/admission/replay.ts';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { createKubeRequest, type KubeRequest } from '../../support/kube-request.ts';
import { KUBERNETES_VERSIONS } from '../../support/kubernetes-versions.ts';

const RECORD = process.env.RECORD !== undefined;
const RECORDED = RECORD ? {} : readAnswers();

/** Older versions refuse the same fields in other words; 1.29 names those of a status without it. */
const fieldsOf = (answer: Answer | undefined) => ({
  status: answer?.status,
  fields: [...new Set(answer?.causes?.map(({ field }) => field.replace(/^status\./, '')))].sort(),
});

for (const { age, version, program } of KUBERNETES_VERSIONS)
  describe(`the resources on the API server of Kubernetes ${version}, the ${age} of those supported`, () => {
    let controlPlane: ControlPlane;
    let request: KubeRequest;
    let created = 0;

    const plural = (kind: string) => `${kind.toLowerCase()}s`;
    const path = (kind: string) =>
      `/apis/${API_VERSION}/namespaces/default/${plural(kind)}?fieldValidation=Strict`;
    const create = (kind: string, spec: Spec) =>
      request('POST', path(kind), {
        apiVersion: API_VERSION,
        kind,
        metadata: { name: kind === 'Workspace' ? 'workspace' : `object-${created++}` },
        spec,
      });

    before(async () => {
      controlPlane = await startControlPlane([], program);
      request = createKubeRequest(controlPlane);
      for (const file of readdirSync('charts/berth/files/crds')) {
        const definition = parse(readFileSync(`charts/berth/files/crds/${file}`, 'utf8'));
        const { status, body } = await request(
          'POST',
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
          definition,
        );
        expect(status, JSON.stringify(body)).to.equal(201);
      }
      await request.until('GET', path('ModelDeployment'), ({ status }) => status === 200);
      await request.until('GET', path('StorageCredential'), ({ status }) => status === 200);
    });
    after(async () => {
      // RECORD=1 writes what the newest version answers.
      if (RECORD && Object.keys(answers).length === MANIFESTS.length)
        writeFileSync(ANSWERS_FILE, `${JSON.stringify(answers, null, 2)}\n`);
      await controlPlane?.close();
    });

    const answers: Record<string, Answer> = {};
    // Kubernetes 1.29 checks the rule on names at no creation; there, the status of a deployment tells.
    const isChecked = ({ kind, name }: Manifest) => age === 'newest' || kind !== 'ModelDeployment' || !name;
    for (const manifest of MANIFESTS.filter(isChecked))
      it(`answers as recorded: ${keyOf(manifest)}`, async () => {
        const answer = await ask(request, manifest);
        answers[keyOf(manifest)] = answer;
        const recorded = RECORDED[keyOf(manifest)];
        if (age === 'newest' && !RECORD) expect(answer).to.deep.equal(recorded);
        else if (!RECORD) expect(fieldsOf(answer)).to.deep.equal(fieldsOf(recorded));
      });

    it('fills in the defaults', async () => {
      const { body } = await create('ModelDeployment', llm());
      expect(body.spec.limits.requestTimeout).to.equal('120s');
      expect(body.spec.model.source).to.deep.equal({ none: {} });
      const { body: key } = await create('APIKey', {});
      expect([key.spec.rpm, key.spec.tpd]).to.deep.equal([60, 1_000_000]);
    });

    if (age === 'newest')
      it('lets what is there be written, though its name was allowed only before', async () => {
        const definitions =
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/modeldeployments.berth.dev';
        const readDefinition = async () => (await request('GET', definitions)).body;
        const changeRules = async (rules: object[]) => {
          const definition = await readDefinition();
          definition.spec.versions[0].schema.openAPIV3Schema['x-kubernetes-validations'] = rules;
          const { status, body } = await request('PUT', definitions, definition);
          expect(status, JSON.stringify(body)).to.equal(200);
        };
        const list = path('ModelDeployment');
        const model = (name: string, spec: Spec = llm()) => ({
          apiVersion: API_VERSION,
          kind: 'ModelDeployment',
          metadata: { name },
          spec,
        });
        const rules = (await readDefinition()).spec.versions[0].schema.openAPIV3Schema[
          'x-kubernetes-validations'
        ];
        await changeRules([]);
        await request.until('POST', list, ({ status }) => status === 201, model('qwen2.5-7b'));
        await changeRules(rules);
        const dryRun = `${list}&dryRun=All`;
        await request.until('POST', dryRun, ({ status }) => status === 422, model('qwen2.5-8b'));

        const object = `${list.split('?')[0]}/qwen2.5-7b`;
        const writes = [
          [`${object}/status`, { status: { phase: 'Failed' } }],
          [object, { metadata: { finalizers: ['berth.dev/cleanup'] } }],
          [object, { spec: { replicas: 2 } }],
          [object, { metadata: { finalizers: null } }],
        ] as const;
        for (const [where, change] of writes) {
          const { status, body } = await request('PATCH', where, change);
          expect(status, JSON.stringify(body)).to.equal(200);
        }
      });

    it('scales by the scale subresource', async () => {
      const { body } = await create('ModelDeployment', llm({ replicas: 1 }));
      const scale = `${path('ModelDeployment').split('?')[0]}/${body.metadata.name}/scale`;
      const { body: before } = await request('GET', scale);
      const { status } = await request('PUT', scale, { ...before, spec: { replicas: 3 } });
      expect(status).to.equal(200);
      const { body: after } = await request('GET', scale.replace('/scale', ''));
      expect(after.spec.replicas).to.equal(3);
    });
  });
