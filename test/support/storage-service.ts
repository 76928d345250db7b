/** Storage as sidecars see it: the signing service, with a folder as the store. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { INTERNAL_PATHS } from '../../api/internal-api.ts';
import { ApiError, buildEnvelope } from '../../gateway/http/error-response.ts';
import { FolderServer } from '../../gateway/storage/folder-server.ts';
import { FolderStore } from '../../gateway/storage/folder-store.ts';
import { ObjectFolder } from '../../gateway/storage/object-folder.ts';
import { StoreUrlSigner } from '../../gateway/storage/store-url-signer.ts';
import type { GetUrlsRequest, PutUrlsRequest, UrlSigner } from '../../gateway/storage/url-signer.ts';

export interface StorageService {
  /** For the environment of sidecars. */
  url: string;
  urlSigner: UrlSigner;
  store: FolderStore;
  /** Keys of all stored objects. */
  listObjects(): string[];
  /** While closed, it breaks off all requests. */
  setOpen(isOpen: boolean): void;
  /** How many requests it broke off. */
  readonly refusals: number;
  stop(): Promise<void>;
}

export async function startStorageService(): Promise<StorageService> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-objects-'));
  const objects = new ObjectFolder(folder);
  const secret = randomBytes(32);
  const bucket = 'results';
  const links = await FolderServer.start({ objects, bucket, secret, host: '127.0.0.1', port: 0 });
  const store = new FolderStore({ objects, bucket, origin: `http://127.0.0.1:${links.port}`, secret });
  const urlSigner = new StoreUrlSigner({ find: async () => ({ store, prefix: '' }) });
  let isOpen = true;
  let refusals = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!isOpen) {
      refusals++;
      request.destroy();
      return;
    }
    const question = await json(request);
    const ask = () =>
      request.url === INTERNAL_PATHS.signPuts
        ? urlSigner.signPuts(question as PutUrlsRequest)
        : urlSigner.signGets(question as GetUrlsRequest);
    const [status, body] = await ask().then(
      (good) => [200, good],
      (error) => (error instanceof ApiError ? [error.status, buildEnvelope(error)] : [500, {}]),
    );
    response.writeHead(status as number).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    urlSigner,
    store,
    listObjects: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.startsWith('objects/') && statSync(join(folder, path)).isFile())
        .map((path) => path.slice('objects/'.length)),
    get refusals() {
      return refusals;
    },
    setOpen: (open) => {
      isOpen = open;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await links.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
