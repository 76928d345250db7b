import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderServer } from '../../../gateway/storage/folder-server.ts';
import { FolderStore } from '../../../gateway/storage/folder-store.ts';
import { ObjectFolder } from '../../../gateway/storage/object-folder.ts';
import { describeStore, type StartedStore } from './store-behavior.ts';

const BUCKET = 'results';

async function startFolderStore(): Promise<StartedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-folder-'));
  const objects = new ObjectFolder(folder);
  const secret = randomBytes(32);
  const server = await FolderServer.start({ objects, bucket: BUCKET, secret, host: '127.0.0.1', port: 0 });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    store: new FolderStore({ objects, bucket: BUCKET, origin, secret }),
    listObjects: async () => listFiles(folder),
    stop: async () => {
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Without the folder's notes of what each object is. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith('types/') && statSync(join(folder, path)).isFile(),
  );

describeStore('a folder', startFolderStore);
