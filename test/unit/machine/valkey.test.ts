import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findProgram } from '../../../machine/system-package.ts';

/** Installs Valkey with these scripts as apt-get and dpkg. */
function ask(folder: string, apt: string, dpkg: string): string {
  for (const [name, script] of Object.entries({ 'apt-get': apt, dpkg }))
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const program = "import('./machine/valkey.ts').then(({ ensureValkey }) => ensureValkey())";
  const { stderr, status } = spawnSync(process.execPath, ['-e', program], {
    env: { PATH: `${folder}:/usr/bin:/bin`, BERTH_CACHE: join(folder, 'cache') },
    encoding: 'utf8',
  });
  expect(status).to.equal(1);
  return stderr;
}

describe('fetching Valkey', () => {
  let folder: string;
  beforeEach(function () {
    if (findProgram('valkey-server')) this.skip();
    folder = mkdtempSync(join(tmpdir(), 'berth-valkey-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('says what else there is where the machine does not trust Debian, as Ubuntu does not', () => {
    const said = ask(folder, 'echo "NO_PUBKEY 6ED0E7B82643E131" >&2; exit 100', 'exit 1');
    expect(said)
      .to.include('NO_PUBKEY')
      .and.include('BERTH_REDIS_SERVER')
      .and.include('debian-archive-keyring');
  });

  it('keeps no release but the one of the chart', () => {
    // `dpkg -x archive folder`; the script in place of the C library's loader is what is executed.
    const dpkg = [
      'mkdir -p "$3/usr/lib/x86_64-linux-gnu" "$3/usr/bin"',
      'printf "#!/bin/sh\\necho Valkey server v=99.0.0\\n" > "$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"',
      'chmod +x "$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"',
    ].join('\n');
    const apt = [
      'for word in "$@"; do case $word in Dir::Cache=*) cache=$(echo "$word" | cut -d = -f 2-);; esac; done',
      'touch "$cache/archives/valkey.deb"',
    ].join('\n');
    expect(ask(folder, apt, dpkg)).to.include('is not available from Debian (it has 99.0.0)');
    expect(readdirSync(join(folder, 'cache'))).to.deep.equal([]);
  });
});
