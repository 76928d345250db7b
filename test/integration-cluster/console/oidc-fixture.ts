/** A console, an OIDC issuer and an API server that trusts it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConsoleEnvironment } from '../../../console/server/environment.ts';
import type { OIDCSettings } from '../../../console/server/oidc/issuer.ts';
import type { RunningConsole } from '../../../console/server/program.ts';
import type { Logger } from '../../../kit/log.ts';
import { findFreePort } from '../../support/child-program.ts';
import { OIDCBrowser } from '../../support/oidc-browser.ts';
import { CLIENT, type IssuerOptions, startIssuer, type TestIssuer } from '../../support/oidc-issuer.ts';
import { pollUntil } from '../../support/poll.ts';
import { type ConsoleHarness, useConsole } from './console-harness.ts';

export interface OIDCHarness {
  readonly console: ConsoleHarness;
  /** Issuer of the first console by OIDC. */
  readonly issuer: TestIssuer;
  readonly origin: string;
  /** Origins of all consoles that the issuer knows. */
  readonly origins: string[];
  /** Settings of the issuer; `change` is what the console knows differently. */
  settings(change?: Partial<OIDCSettings>): OIDCSettings;
  /** Another console, at a port that the issuer knows: there are two. */
  start(index: 0 | 1, change?: Partial<ConsoleEnvironment>, log?: Logger): Promise<RunningConsole>;
  browser(origin?: string, ca?: string): OIDCBrowser;
  /** A namespace whose only member is this user. */
  makeMember(login: string): Promise<string>;
}

const RBAC = 'rbac.authorization.k8s.io';
export const userOf = (login: string): string => `oidc:${login}@example.com`;

export function useOIDC(options: Omit<IssuerOptions, 'origins'> = {}): OIDCHarness {
  let issuer: TestIssuer;
  let ports: number[];
  let folder: string;
  const browsers: OIDCBrowser[] = [];
  const console = useConsole(async () => {
    ports = [await findFreePort(), await findFreePort(), await findFreePort()];
    issuer = await startIssuer({ ...options, origins: ports.map(originOf) });
    folder = mkdtempSync(join(tmpdir(), 'berth-oidc-'));
    writeFileSync(join(folder, 'ca.crt'), issuer.ca);
    return [
      `--oidc-issuer-url=${issuer.url}`,
      `--oidc-client-id=${CLIENT.id}`,
      `--oidc-ca-file=${join(folder, 'ca.crt')}`,
      '--oidc-username-claim=email',
      '--oidc-username-prefix=oidc:',
    ];
  });
  const harness: OIDCHarness = {
    console,
    get issuer() {
      return issuer;
    },
    get origin() {
      return originOf(ports[2]!);
    },
    get origins() {
      return ports.map(originOf);
    },
    settings: (change = {}) => ({
      issuer: issuer.url,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      scopes: ['openid', 'email', 'profile'],
      name: null,
      ca: issuer.ca,
      ...change,
    }),
    start: (index, change, log) =>
      console.start({ port: ports[index], oidc: harness.settings(), ...change }, log),
    browser: (origin = harness.origin, ca = issuer.ca) => {
      const browser = new OIDCBrowser(origin, ca);
      browsers.push(browser);
      return browser;
    },
    makeMember: async (login) => {
      const namespace = await console.api.makeNamespace();
      await console.kube('POST', `/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, {
        metadata: { name: 'member' },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'berth-member' },
        subjects: [{ kind: 'User', name: userOf(login), apiGroup: RBAC }],
      });
      return namespace;
    },
  };
  before(async function () {
    this.timeout(60_000);
    await console.start({ port: ports[2], oidc: harness.settings() });
    // It asks the issuer for its keys only some seconds after its own start.
    await pollUntil(() => isTrusted(harness), 'an API server that trusts the issuer', 60_000);
  });
  after(async () => {
    await Promise.all(browsers.map((browser) => browser.close()));
    await issuer?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  return harness;
}

const originOf = (port: number) => `http://127.0.0.1:${port}`;

/** The console names missing rights only once the API server accepts the issuer's users. */
async function isTrusted(harness: OIDCHarness): Promise<boolean> {
  const browser = harness.browser();
  await browser.signIn('nobody');
  const { body } = await browser.call('GET', '/api/sign-in');
  return /cannot list modeldeployments/.test(body.error ?? '');
}
