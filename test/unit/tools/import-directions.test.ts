import { expect } from 'chai';
import {
  findCycles,
  findDevPackages,
  findGoPrograms,
  findRings,
  findWrongDirections,
  listImports,
  listPackageImports,
  readDependencies,
} from '../../../tools/import-directions.ts';

describe('the check of imports', () => {
  const all = listImports();

  it('finds those of the repository', () => {
    expect(all).to.deep.include({ from: 'kit/program.ts', to: 'kit/log.ts' });
  });

  it('refuses an import against the direction of the layers', () => {
    const imports = [
      { from: 'api/a.ts', to: 'redis/b.ts' },
      { from: 'gateway/a.ts', to: 'operator/b.ts' },
      { from: 'redis/a.ts', to: 'api/b.ts' },
    ];
    expect(findWrongDirections(imports)).to.have.length(2);
  });

  it('lets nothing import a test, nor the cluster what starts it', () => {
    const imports = [
      { from: 'launch/a.ts', to: 'test/support/b.ts' },
      { from: 'cluster/a.ts', to: 'launch/b.ts' },
      { from: 'machine/a.ts', to: 'cluster/b.ts' },
      { from: 'launch/a.ts', to: 'tools/b.ts' },
      { from: 'launch/a.ts', to: 'cluster/b.ts' },
    ];
    expect(findWrongDirections(imports)).to.have.length(4);
  });

  it('knows no folder that has no layer', () => {
    expect(findWrongDirections([{ from: 'somewhere/a.ts', to: 'api/b.ts' }])).to.have.length(1);
  });

  it('refuses a cycle of folders, and names the imports that close it', () => {
    const imports = [
      { from: 'redis/one/a.ts', to: 'redis/two/b.ts' },
      { from: 'redis/two/c.ts', to: 'redis/three/d.ts' },
      { from: 'redis/three/e.ts', to: 'redis/one/f.ts' },
      { from: 'redis/g.ts', to: 'redis/one/a.ts' },
    ];
    const [cycle, ...more] = findCycles(imports);
    expect(more).to.deep.equal([]);
    expect(cycle).to.include('redis/one → redis/two → redis/three → redis/one');
    for (const { from } of imports.slice(0, 3)) expect(cycle).to.include(from);
  });

  it('refuses a ring of files, of types alone as well, and names the imports that close it', () => {
    const ring = [
      { from: 'redis/a.ts', to: 'redis/b.ts' },
      { from: 'redis/b.ts', to: 'redis/c.ts' },
      { from: 'redis/c.ts', to: 'redis/a.ts', isType: true as const },
    ];
    const outside = [
      { from: 'redis/d.ts', to: 'redis/a.ts' },
      { from: 'redis/a.ts', to: 'api/e.ts' },
    ];
    const [found, ...more] = findRings([...outside, ...ring]);
    expect(more).to.deep.equal([]);
    for (const { from, to } of ring) expect(found).to.include(`${from} imports ${to}`);
    expect(found).to.not.include('d.ts').and.not.include('e.ts');
    expect(findRings([...outside, ...ring.slice(1)])).to.deep.equal([]);
  });

  it('finds each ring of files, of two folders as well, but none of tests', () => {
    const pair = (one: string, other: string) => [
      { from: one, to: other },
      { from: other, to: one },
    ];
    const imports = [
      ...pair('api/a.ts', 'api/b.ts'),
      ...pair('api/b.ts', 'api/deep/c.ts'),
      ...pair('test/unit/a.ts', 'test/unit/b.ts'),
    ];
    expect(findRings(imports)).to.have.length(2);
  });

  it('finds no ring in the repository', () => {
    expect(findRings(all)).to.deep.equal([]);
  });

  it('lets no test of make test build programs with Go, by whatever way, and names that way', () => {
    const build = { from: 'test/support/server.ts', to: 'cluster/binaries.ts' };
    const use = (from: string) => ({ from, to: 'test/support/server.ts' });
    const imports = [build, use('test/integration-cluster/a.test.ts'), use('test/e2e/b.test.ts')];
    expect(findGoPrograms(imports)).to.deep.equal([]);
    const type = { ...use('test/integration/c.test.ts'), isType: true as const };
    expect(findGoPrograms([...imports, type])).to.deep.equal([]);
    const [problem, ...more] = findGoPrograms([...imports, use('test/integration/d.test.ts')]);
    expect(more).to.deep.equal([]);
    expect(problem).to.include('test/integration/d.test.ts → test/support/server.ts → cluster/binaries.ts');
  });

  it('knows imports of types alone', () => {
    const find = (path: string) => all.find(({ from, to }) => from === path && /control-plane/.test(to));
    expect(find('test/support/kube-request.ts')).to.include({ isType: true });
    expect(find('test/integration-cluster/crds/schema.test.ts')).to.not.have.property('isType');
  });

  describe('of packages', () => {
    const packages = listPackageImports();
    const dependencies = (manifest: string) =>
      manifest === 'package.json' ? ['yaml', 'zod'] : ['sharp', 'zod'];

    it('refuses one that only development has, in what runs', () => {
      const imports = [
        { from: 'cli/a.ts', name: 'yaml' },
        { from: 'cli/b.ts', name: 'standardwebhooks' },
        { from: 'simulator/c.ts', name: 'sharp' },
        { from: 'simulator/d.ts', name: 'yaml' },
      ];
      const problems = findDevPackages(imports, dependencies);
      expect(problems).to.have.length(2);
      expect(problems[0]).to.match(/^cli\/b\.ts imports standardwebhooks/);
      expect(problems[1]).to.match(/^simulator\/d\.ts imports yaml/);
    });

    it('reads scoped ones, parts of one and calls, but no types and none of the page', () => {
      const find = (from: string) => packages.filter((each) => each.from === from).map(({ name }) => name);
      expect(find('gateway/storage/s3-store.ts')).to.include.members([
        '@aws-sdk/client-s3',
        '@aws-sdk/s3-request-presigner',
      ]);
      expect(find('cli/listener/webhook-relay.ts')).to.deep.equal(['standardwebhooks']);
      expect(find('cli/deployment/pod.ts')).to.deep.equal([]);
      expect(packages.filter(({ from }) => from.startsWith('console/web/'))).to.deep.equal([]);
    });

    it('finds none that npm ci --omit=dev leaves out', () => {
      expect(findDevPackages(packages, readDependencies)).to.deep.equal([]);
    });
  });
});
