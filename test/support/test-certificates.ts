/** A certificate authority of the test's own, and a server's certificate that it signs. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureProgram } from '../../machine/system-package.ts';

export interface Certificates {
  /** PEM, all three. */
  ca: string;
  cert: string;
  key: string;
}

/** `names`: as in a certificate's subjectAltName, such as `DNS:images.test`. */
export function makeCertificates(names: string): Certificates {
  const openssl = ensureProgram('openssl', 'openssl');
  const folder = mkdtempSync(join(tmpdir(), 'berth-certificates-'));
  const run = (...args: string[]) => execFileSync(openssl, args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    run(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '2',
      '-subj',
      '/CN=test-ca',
    );
    run('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server');
    writeFileSync(join(folder, 'server.ext'), `subjectAltName=${names}\n`);
    const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-set_serial', '2', '-days', '2'];
    run('x509', '-req', '-in', 'server.csr', ...authority, '-out', 'server.crt', '-extfile', 'server.ext');
    const read = (file: string) => readFileSync(join(folder, file), 'utf8');
    return { ca: read('ca.crt'), cert: read('server.crt'), key: read('server.key') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
