/** The user's permissions according to the API server, cached for up to 10 seconds. */

import {
  CONSOLE_RIGHTS,
  CONSOLE_WRITES,
  type ConsoleRight,
  type ConsoleRightName,
  POD_READS,
  POD_WRITES,
} from '../../../api/console-rights.ts';
import { GROUP } from '../../../api/names.ts';
import type { AccessView } from '../../api.ts';
import { ConsoleError } from '../http/error.ts';
import { PromiseCache } from '../sessions/promise-cache.ts';
import type { Session } from '../sessions/session.ts';
import type { Kubernetes } from './client.ts';

const TTL_MS = 10_000;
const MAX_ENTRIES = 20_000;

type Rights = Omit<AccessView, 'isMissing'>;

export class Access {
  readonly #kubernetes: Kubernetes;
  readonly #answers = new PromiseCache<boolean>({ ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });

  constructor(kubernetes: Kubernetes) {
    this.#kubernetes = kubernetes;
  }

  /** `namespace` null: in all namespaces. */
  allows(session: Session, namespace: string | null, right: ConsoleRight): Promise<boolean> {
    const { group = GROUP, verb, resource, subresource = '' } = right;
    const key = [session.digest, namespace ?? '*', group, verb, resource, subresource].join(' ');
    return this.#answers.get(key, () =>
      this.#kubernetes.isAllowed(session.token, { ...right, ...(namespace !== null && { namespace }) }),
    );
  }

  may(session: Session, namespace: string, name: ConsoleRightName): Promise<boolean> {
    return this.allows(session, namespace, CONSOLE_RIGHTS[name]);
  }

  /** Throws permission_denied, worded like the API server's message. */
  async require(session: Session, namespace: string, name: ConsoleRightName): Promise<void> {
    if (await this.may(session, namespace, name)) return;
    const { verb, resource, subresource }: ConsoleRight = CONSOLE_RIGHTS[name];
    const what = `${resource}.${GROUP}${subresource ? `/${subresource}` : ''}`;
    throw new ConsoleError(
      'permission_denied',
      `User "${session.user}" cannot ${verb} ${what} in the namespace "${namespace}".`,
    );
  }

  async describe(session: Session, namespace: string): Promise<Rights> {
    const may = (name: ConsoleRightName) => this.may(session, namespace, name);
    const allows = (right: ConsoleRight) => this.allows(session, namespace, right);
    const mayAll = async (rights: readonly ConsoleRight[]) =>
      (await Promise.all(rights.map(allows))).every(Boolean);
    const questions = {
      manageDeployments: mayAll(CONSOLE_WRITES.manageDeployments),
      readReplicas: allows(POD_READS.readReplicas),
      readLogs: allows(POD_READS.readLogs),
      readEvents: allows(POD_READS.readEvents),
      readHistory: allows(POD_READS.readHistory),
      restartReplicas: allows(POD_WRITES.restartReplicas),
      manageKeys: mayAll(CONSOLE_WRITES.manageKeys),
      manageWebhooks: mayAll(CONSOLE_WRITES.manageWebhooks),
      manageStorage: mayAll(CONSOLE_WRITES.manageStorage),
      rollSecret: may('rollSecret'),
      readRequests: may('readRequests'),
      cancelRequests: may('cancelRequests'),
      readDeliveries: may('readDeliveries'),
      resendDeliveries: may('resendDeliveries'),
      sendTests: may('sendTests'),
      readUsage: may('readUsage'),
      usePlayground: may('usePlayground'),
    };
    const names = Object.keys(questions) as (keyof Rights)[];
    const answers = await Promise.all(Object.values(questions));
    return Object.fromEntries(names.map((name, index) => [name, answers[index]!])) as unknown as Rights;
  }
}
