import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { generateApiKey } from '../../../api/identity.ts';
import { LOCAL_ENDPOINTS } from '../../../launch/endpoints-file.ts';
import { readRequest } from '../../../launch/key-request.ts';

const PROGRAM = join(import.meta.dirname, '../../../launch/key.ts');

describe('make key', function () {
  this.timeout(30_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-key-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const mode of ['local', 'cluster'])
    it(`refuses an end that is past, before it asks anything: ${mode}`, () => {
      const file = join(folder, LOCAL_ENDPOINTS);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ mode, endpoints: [] }));
      const env = { ...process.env, EXPIRES: '2020-01-01T00:00:00Z' };
      const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM], {
        cwd: folder,
        env,
        encoding: 'utf8',
      });
      expect([status, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.match(/^EXPIRES: 2020-01-01T00:00:00Z is in the past; give a future time/);
    });

  for (const [name, value, words] of [
    ['PRIORITY', '101', /^PRIORITY: .*-100 to 100/],
    ['RPM', 'abc', /^RPM: must be a whole number from 1 to 10,000,000, not "abc"$/m],
    ['TPD', '1.5', /^TPD: must be a whole number .*, not 1\.5$/m],
  ] as const)
    it(`says what is allowed: ${name}`, () => {
      const file = join(folder, LOCAL_ENDPOINTS);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ mode: 'local', endpoints: [] }));
      const env = { ...process.env, [name]: value };
      const { status, stderr } = spawnSync(process.execPath, [PROGRAM], {
        cwd: folder,
        env,
        encoding: 'utf8',
      });
      expect(status).to.equal(1);
      expect(stderr).to.match(words);
    });

  it('has the given name, or one of its own', () => {
    const key = generateApiKey();
    expect(readRequest({ NAME: 'mine' }, key).name).to.equal('mine');
    expect(readRequest({}, key).name).to.match(/^key-[0-9a-f]{10}$/);
  });
});
