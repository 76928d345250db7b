/** Kubeconfig files. */

export interface KubeconfigOptions {
  server: string;
  /** PEM of the authority that signed the server's certificate. */
  authority: string;
  user: { token: string } | { certificate: string; key: string };
}

const encode = (text: string): string => Buffer.from(text).toString('base64');

/** A kubeconfig with everything inside, so that it works wherever it is copied. JSON is YAML, too. */
export function formatKubeconfig({ server, authority, user }: KubeconfigOptions): string {
  const credentials =
    'token' in user
      ? user
      : { 'client-certificate-data': encode(user.certificate), 'client-key-data': encode(user.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'berth', cluster: { server, 'certificate-authority-data': encode(authority) } }],
    users: [{ name: 'berth', user: credentials }],
    contexts: [{ name: 'berth', context: { cluster: 'berth', user: 'berth' } }],
    'current-context': 'berth',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
