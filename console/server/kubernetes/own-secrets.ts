/** Secrets that the console writes with its own token, for users without permissions on Secrets. */
import { readFile } from 'node:fs/promises';
import { ANNOTATIONS, LABELS, MANAGED_BY, SIGNING_SECRET_NAME } from '../../../api/names.ts';
import { type SecretFields, WORKSPACE_SECRET_FIELDS } from '../../../api/signing-secret.ts';
import { WORKSPACE_NAME, workspaceResource } from '../../../api/workspace.ts';
import type { Logger } from '../../../kit/log.ts';
import { ConsoleError } from '../http/error.ts';
import type { Kubernetes } from './client.ts';
import { KubernetesError } from './error.ts';
import type { KubeObject } from './object.ts';

const SECRETS = 'secrets';

export interface OwnSecretsOptions {
  kubernetes: Kubernetes;
  tokenPath: string;
  log: Logger;
}

export class OwnSecrets {
  readonly #options: OwnSecretsOptions;

  constructor(options: OwnSecretsOptions) {
    this.#options = options;
  }

  /**
   * Replaces the webhook signing secret of a namespace, or an endpoint's own by its `fields`; `overlapMs`: how long the old
   * one also signs. Throws ConsoleError if the Secret is not managed by Berth.
   */
  async writeSigningSecret(
    namespace: string,
    secret: string,
    {
      user,
      overlapMs,
      fields = WORKSPACE_SECRET_FIELDS,
    }: { user: string; overlapMs: number; fields?: SecretFields },
  ): Promise<void> {
    const { kubernetes } = this.#options;
    const place = { plural: SECRETS, namespace };
    const data = { [fields.secret]: Buffer.from(secret).toString('base64') };
    const metadata = { annotations: { [ANNOTATIONS.rolledBy]: user } };
    await this.#asConsole(async (token) => {
      const present = await findOrNull(kubernetes.get(token, place, SIGNING_SECRET_NAME));
      if (present === null) {
        const labels = { [LABELS.managedBy]: MANAGED_BY };
        const made = { ...metadata, name: SIGNING_SECRET_NAME, namespace, labels };
        await kubernetes.create({ token }, place, { apiVersion: 'v1', kind: 'Secret', metadata: made, data });
        return;
      }
      if (present.metadata.labels?.[LABELS.managedBy] !== MANAGED_BY)
        throw new ConsoleError(
          'conflict',
          `The Secret ${SIGNING_SECRET_NAME} is not managed by Berth. Roll it with kubectl.`,
        );
      const old = (present as { data?: Record<string, string> }).data?.[fields.secret];
      const until = new Date(Date.now() + overlapMs).toISOString();
      const previous =
        overlapMs > 0 && old
          ? { [fields.previous]: old, [fields.previousUntil]: Buffer.from(until).toString('base64') }
          : { [fields.previous]: null, [fields.previousUntil]: null };
      await kubernetes.patch({ token }, place, SIGNING_SECRET_NAME, {
        data: { ...data, ...previous },
        metadata,
      });
    });
    await this.#wakeOperator(namespace);
  }

  /** Creates a Secret that is deleted with its owner. */
  async create(
    owner: KubeObject,
    { name, data, user }: { name: string; data: Record<string, string>; user: string },
  ): Promise<void> {
    const { apiVersion, kind, metadata } = owner;
    const namespace = metadata.namespace!;
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name,
        namespace,
        labels: { [LABELS.managedBy]: MANAGED_BY },
        annotations: { [ANNOTATIONS.madeFor]: user },
        ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }],
      },
      stringData: data,
    };
    await this.#asConsole((token) =>
      this.#options.kubernetes.create({ token }, { plural: SECRETS, namespace }, secret),
    );
  }

  /** The operator's watch sees the new Secret; this is a fallback. */
  async #wakeOperator(namespace: string): Promise<void> {
    const { kubernetes, log } = this.#options;
    const place = { plural: workspaceResource.plural, namespace };
    const metadata = { annotations: { [ANNOTATIONS.rolledAt]: new Date().toISOString() } };
    try {
      await kubernetes.patch({ token: await this.#readToken() }, place, WORKSPACE_NAME, { metadata });
    } catch (error) {
      log.debug({ err: error, namespace }, 'operator not notified of the rolled secret');
    }
  }

  /** Errors here concern the console's permissions, not the user's. */
  async #asConsole<T>(act: (token: string) => Promise<T>): Promise<T> {
    const { log } = this.#options;
    try {
      return await act(await this.#readToken());
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.status === 0) throw error;
      log.error({ err: error }, 'API server refused the console');
      throw new ConsoleError(
        'temporarily_unavailable',
        `The console doesn't have permission to do this: ${error.message}`,
      );
    }
  }

  /** Read each time, since the kubelet rotates it. */
  async #readToken(): Promise<string> {
    try {
      return (await readFile(this.#options.tokenPath, 'utf8')).trim();
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot read service account token');
      throw new ConsoleError('temporarily_unavailable', 'The console has no service account token.');
    }
  }
}

async function findOrNull(object: Promise<KubeObject>): Promise<KubeObject | null> {
  try {
    return await object;
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return null;
    throw error;
  }
}
