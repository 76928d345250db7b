/** Customer buckets. The console writes their keys to a Secret, since members have no permissions on Secrets. */

import { randomBytes } from 'node:crypto';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import {
  type StorageCredential,
  storageCredential,
  storageCredentialResource,
} from '../../../api/storage-credential.ts';
import type { StorageCredentialView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { ConsoleError } from '../http/error.ts';
import type { Author } from '../kubernetes/client.ts';
import { viewAs } from '../kubernetes/object.ts';
import { describeStorageCredential, PENDING } from '../views/storage-credential.ts';
import { pollUntil } from './poll.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural, kind } = storageCredentialResource;
/** For a put, a get and a delete on a slow store. */
const VERIFY_TIMEOUT_MS = 12_000;

export function addStorageCredentialRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, ownSecrets } = services;
  /** Triggers verification by the operator and waits for the result; pending if that takes longer. */
  const verify = async (author: Author, namespace: string, name: string): Promise<StorageCredentialView> => {
    const stamp = new Date().toISOString();
    await kubernetes.patch(author, { plural, namespace }, name, {
      metadata: { annotations: { [ANNOTATIONS.verify]: stamp } },
    });
    const poll = async () =>
      storageCredential.parse(await kubernetes.get(author.token, { plural, namespace }, name));
    const wasTried = ({ status }: StorageCredential) => status.lastHandledVerify === stamp;
    const { seen, isWanted } = await pollUntil(poll, wasTried, VERIFY_TIMEOUT_MS);
    return isWanted ? describeStorageCredential(seen) : { ...describeStorageCredential(seen), ...PENDING };
  };

  serve(routes.listStorageCredentials, async ({ session, namespace }) => {
    const shown = viewAs(storageCredential, describeStorageCredential);
    const views = await kubernetes.list(session.token, { plural, namespace }, shown);
    return views.sort((a, b) => a.name.localeCompare(b.name));
  });

  serve(routes.createStorageCredential, async ({ ctx, session, namespace, readBody }) => {
    const { token } = session;
    const { name, accessKeyId, secretAccessKey, ...spec } = await readBody();
    await access.require(session, namespace, 'storeKeys');
    // A unique name, so that no other Secret is overwritten or used.
    const secret = `${name}-keys-${randomBytes(4).toString('hex')}`;
    const object = {
      apiVersion: API_VERSION,
      kind,
      metadata: { name, namespace },
      spec: { ...spec, secret },
    };
    const made = await kubernetes.create(session, { plural, namespace }, object);
    try {
      const data = { accessKeyId, secretAccessKey };
      await ownSecrets.create(made, { name: secret, data, user: session.user });
    } catch (error) {
      await kubernetes.remove(token, { plural, namespace }, name).catch(() => {});
      throw error;
    }
    const view = await verify(session, namespace, name);
    // A credential that never worked is removed; the user can correct the form.
    if (view.state === 'failed') {
      await kubernetes.remove(token, { plural, namespace }, name);
      throw new ConsoleError('refused', `The credential was not added: ${view.message}.`);
    }
    ctx.status = 201;
    return view;
  });

  serve(routes.verifyStorageCredential, async ({ session, namespace, name }) => {
    return await verify(session, namespace, name);
  });

  serve(routes.deleteStorageCredential, async ({ session, namespace, name }) => {
    await kubernetes.remove(session.token, { plural, namespace }, name);
  });
}
