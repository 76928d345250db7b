/** The cluster's certificates, all from one authority, and the kubeconfigs of its components. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureProgram } from '../machine/system-package.ts';
import { runCommand } from './commands.ts';
import { formatKubeconfig } from './kubeconfig.ts';
import { API_SERVICE_IP, API_URL, NODE_IP, NODE_NAME } from './layout.ts';

interface Identity {
  name: string;
  subject: string;
  alternativeNames?: string;
  hasKubeconfig?: boolean;
}

const IDENTITIES: Identity[] = [
  {
    name: 'apiserver',
    subject: '/CN=kube-apiserver',
    alternativeNames: `DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:${NODE_IP},IP:${API_SERVICE_IP}`,
  },
  { name: 'apiserver-kubelet', subject: '/O=system:masters/CN=apiserver-kubelet' },
  {
    name: 'node',
    subject: `/O=system:nodes/CN=system:node:${NODE_NAME}`,
    alternativeNames: `DNS:${NODE_NAME},IP:${NODE_IP}`,
    hasKubeconfig: true,
  },
  { name: 'admin', subject: '/O=system:masters/CN=admin', hasKubeconfig: true },
  { name: 'controllers', subject: '/CN=system:kube-controller-manager', hasKubeconfig: true },
  { name: 'scheduler', subject: '/CN=system:kube-scheduler', hasKubeconfig: true },
  { name: 'proxy', subject: '/CN=system:kube-proxy', hasKubeconfig: true },
];

const VALID_DAYS = '90';

/** Creates a new CA and its certificates in `<folder>/pki`, and `<folder>/kubeconfigs/<name>`. */
export async function writeCertificates(folder: string): Promise<void> {
  const openssl = ensureProgram('openssl', 'openssl');
  const pki = join(folder, 'pki');
  const run = (...args: string[]) => runCommand([openssl, ...args], { cwd: pki });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run(
    ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.crt'],
    ...['-days', VALID_DAYS, '-subj', '/CN=berth-test-ca'],
  );
  await run('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'accounts.key');
  await run('ec', '-in', 'accounts.key', '-pubout', '-out', 'accounts.pub');
  for (const [serial, { name, subject, alternativeNames }] of IDENTITIES.entries()) {
    const extensions = `extendedKeyUsage=serverAuth,clientAuth\n${alternativeNames ? `subjectAltName=${alternativeNames}\n` : ''}`;
    writeFileSync(join(pki, `${name}.ext`), extensions);
    await run('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
    await run(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key'],
      ...['-set_serial', String(serial + 2), '-days', VALID_DAYS],
      ...['-out', `${name}.crt`, '-extfile', `${name}.ext`],
    );
  }
  writeKubeconfigs(folder, pki);
}

function writeKubeconfigs(folder: string, pki: string): void {
  const read = (file: string) => readFileSync(join(pki, file), 'utf8');
  for (const { name } of IDENTITIES.filter(({ hasKubeconfig }) => hasKubeconfig)) {
    const user = { certificate: read(`${name}.crt`), key: read(`${name}.key`) };
    const text = formatKubeconfig({ server: API_URL, authority: read('ca.crt'), user });
    writeFileSync(join(folder, 'kubeconfigs', name), text, { mode: 0o600 });
  }
}
