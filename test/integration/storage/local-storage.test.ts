import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openFrontStorage, type ServerStorage } from '../../../gateway/front/front-storage.ts';
import { resultKey } from '../../../gateway/storage/object-keys.ts';
import { storeFiles } from '../../../gateway/storage/uploads.ts';
import { findFreePort } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { PUBLIC_ONLY } from '../../support/public-egress.ts';
import { newRequestId, newToken } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('the storage of `make run`', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-local-storage-'));
  let stack: TestStack;
  let storage: ServerStorage;
  let port: number;
  const open = () =>
    openFrontStorage({
      environment: {
        masterKey: 'test-master-key',
        bucket: null,
        folder: { path: join(folder, 'objects'), port },
        spool: { folder: join(folder, 'spool'), maxBytes: 1024 },
      },
      redis: stack.redis,
      egress: PUBLIC_ONLY,
      host: '127.0.0.1',
    });
  before(async () => {
    stack = await TestStack.start();
    port = await findFreePort();
    storage = await open();
  });
  after(async () => {
    await storage?.close();
    await stack?.stop();
    rmSync(folder, { recursive: true });
  });

  const store = async (text: string) => {
    const { services } = storage;
    const source = (async function* () {
      yield Buffer.from(text);
    })();
    const file = await services.spool.hold(source, { maxBytes: 1024 });
    const place = { workspace: 'team', request: newRequestId(), token: newToken() };
    const files = [{ file, key: resultKey(place, 0, 'txt'), contentType: 'text/plain' }];
    const where = { namespace: 'team', credential: null };
    const until = { removeInMs: 60_000, deadlineMs: 10_000 };
    return storeFiles({ ...services, redis: stack.redis }, { ...where, files, ...until });
  };
  const link = async (key: string, expiresInSeconds: number) => {
    const question = { namespace: 'team', credential: null, objects: [{ key }], expiresInSeconds };
    const [url] = await storage.services.urlSigner.signGets(question);
    return url!;
  };

  it('keeps results and gives links to them on an origin of their own, which end', async () => {
    const { objects, bucket, provider } = await store('hello');
    expect({ bucket, provider }).to.deep.equal({ bucket: 'berth', provider: null });
    const url = await link(objects[0]!.key, 2);
    expect(new URL(url).port).to.equal(String(port));
    expect(await (await fetch(url)).text()).to.equal('hello');
    await pollUntil(async () => (await fetch(url)).status === 403, 'the end of the link', 6_000);
  });

  it('keeps results and links over a restart', async () => {
    const { objects } = await store('again');
    const url = await link(objects[0]!.key, 60);
    await storage.close();
    storage = await open();
    expect(await (await fetch(url)).text()).to.equal('again');
  });
});
