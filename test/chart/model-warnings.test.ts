import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { ensureBinary } from '../../cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { createKubeRequest } from '../support/kube-request.ts';
import { WARNING_CASES } from '../support/model-warnings.ts';
import { pollUntil } from '../support/poll.ts';
import { IMAGES } from './render.ts';

const run = promisify(execFile);

describe('warnings about models by kubectl on a real API server with the chart', () => {
  let controlPlane: ControlPlane;
  let folder: string;
  let kubectl: string;
  let count = 0;

  const call = (args: readonly string[]) => {
    const { url, token } = controlPlane;
    const server = ['--server', url, '--token', token, '--certificate-authority', join(folder, 'ca.crt')];
    return run(kubectl, [...server, '--cache-dir', join(folder, 'cache'), ...args]);
  };
  const apply = async (spec: object, ...args: string[]): Promise<{ stdout: string; stderr: string }> => {
    const metadata = { name: `model-${count++}`, namespace: 'default' };
    const file = join(folder, 'model.json');
    writeFileSync(file, JSON.stringify({ apiVersion: API_VERSION, kind: 'ModelDeployment', metadata, spec }));
    return call(['apply', '-f', file, ...args]);
  };
  const readWarnings = (stderr: string) =>
    stderr.split('\n').flatMap((line) => /^Warning: .*?((?:spec\.).*)$/.exec(line)?.[1] ?? []);

  before(async () => {
    controlPlane = await startControlPlane();
    folder = mkdtempSync(join(tmpdir(), 'berth-warnings-'));
    writeFileSync(join(folder, 'ca.crt'), controlPlane.authority);
    kubectl = await ensureBinary('kubectl');
    const request = createKubeRequest(controlPlane);
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await request(
      'POST',
      definitions,
      parse(readFileSync('charts/berth/files/crds/modeldeployments.yaml', 'utf8')),
    );
    const chart = [
      'template',
      'berth',
      'charts/berth',
      '--namespace',
      'berth',
      '--set',
      IMAGES,
      '--kube-version',
      '1.35.0',
    ];
    const only = ['--show-only', 'templates/model-warnings-policy.yaml'];
    const { stdout } = await run(await ensureBinary('helm'), [...chart, ...only]);
    writeFileSync(join(folder, 'policy.yaml'), stdout);
    await call(['apply', '-f', join(folder, 'policy.yaml')]);
    // A policy takes effect some time after its creation.
    const { spec } = WARNING_CASES[0]!;
    const isWarned = async () =>
      readWarnings((await apply(spec, '--dry-run=server').catch((error) => error)).stderr).length > 0;
    await pollUntil(isWarned, 'the policy', 60_000);
  });
  after(async () => {
    await controlPlane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { what, spec, warning } of WARNING_CASES)
    it(`${warning ? 'are shown of' : 'are not shown of'} ${what}, which is applied`, async () => {
      const { stdout, stderr } = await apply(spec);
      expect(stdout).to.match(/created/);
      const warnings = readWarnings(stderr);
      expect(warnings, stderr).to.have.length(warning ? 1 : 0);
      if (warning) expect(warnings[0]).to.match(warning);
    });
});
