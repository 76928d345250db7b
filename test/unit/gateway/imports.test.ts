import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '../../..');

/** URLs of all modules that a new process loads for these files. */
function listLoaded(files: string[]): string[] {
  const urls = files.map((file) => pathToFileURL(join(ROOT, file)).href);
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    for (const url of ${JSON.stringify(urls)}) await import(url);
    process.stdout.write(JSON.stringify(loaded));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as string[];
}

describe('what a gateway loads', function () {
  this.timeout(20_000);
  const roles = ['sidecar', 'front'].map((role) => `gateway/${role}/${role}.ts`);

  let loaded: string[];
  before(() => {
    loaded = listLoaded(roles);
  });

  it('is never the Kubernetes client, in any role', () => {
    expect(loaded.some((url) => url.endsWith('/gateway/sidecar/app.ts'))).to.equal(true);
    expect(loaded.filter((url) => url.includes('@kubernetes'))).to.deep.equal([]);
  });

  it('is its own, the api’s, the kit’s and Redis’ modules, no other program’s', () => {
    const own = loaded.filter((url) => url.endsWith('.ts'));
    const folders = new Set(own.map((url) => url.slice(pathToFileURL(ROOT).href.length + 1).split('/')[0]));
    expect([...folders]).to.have.members(['gateway', 'api', 'kit', 'redis']);
  });

  it('is none of what exports traces, as long as no endpoint is set', () => {
    const traces = loaded.filter((url) => url.includes('/gateway/tracing/'));
    const names = traces.map((url) => url.split('/').at(-1));
    expect(names.sort()).to.deep.equal(['span.ts', 'tracer.ts']);
  });

  it('is no zod beside an engine, so that a pod starts soon', () => {
    const besideEngine = listLoaded(['gateway/sidecar/sidecar.ts']);
    expect(besideEngine.filter((url) => url.includes('/node_modules/zod/'))).to.deep.equal([]);
  });
});
