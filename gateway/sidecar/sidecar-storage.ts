/** Storage of a sidecar: links from the fronts, and a disk. Separate from the fronts' own, which loads the AWS SDK. */
import { promptKey } from '../../api/identity.ts';
import type { EgressSettings } from '../egress/agent.ts';
import type { SidecarStorageEnvironment } from '../environment/storage-environment.ts';
import type { StorageServices } from '../jobs/services.ts';
import { Downloader } from '../storage/download.ts';
import { RemoteUrlSigner, refuseWithoutStorage } from '../storage/remote-url-signer.ts';
import { Spool } from '../storage/spool.ts';
import { Uploader } from '../storage/uploads.ts';

export interface SidecarStorage {
  services: StorageServices;
  close(): Promise<void>;
}

export async function openSidecarStorage(
  { url, token, requestPrefix, spool }: SidecarStorageEnvironment,
  namespace: string,
  egress: EgressSettings,
): Promise<SidecarStorage> {
  const uploader = new Uploader({ egress });
  const downloader = new Downloader({ egress });
  const files = await Spool.open(spool);
  const ownPromptKey = token === '' ? null : promptKey(token);
  return {
    services: {
      urlSigner: new RemoteUrlSigner({ url, token, namespace }),
      spool: files,
      uploader,
      downloader,
      requestPrefix: () => {
        if (requestPrefix !== '') return requestPrefix;
        throw refuseWithoutStorage();
      },
      promptKey: () => ownPromptKey,
    },
    close: async () => {
      uploader.close();
      downloader.close();
      await files.close();
    },
  };
}
