import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { generateBatchId, generateFileId } from '../../../api/batch.ts';
import { openObject } from '../../../gateway/batches/stored-lines.ts';
import { startBatchCloser } from '../../../gateway/front/housekeeping/batch-closer.ts';
import { Downloader } from '../../../gateway/storage/download.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { storeFiles, Uploader } from '../../../gateway/storage/uploads.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { addFile, readParts } from '../../../redis/batches/batch-files.ts';
import { createBatch, readBatches } from '../../../redis/batches/batch-records.ts';
import { decodeObject } from '../../../redis/requests/object-cleanup.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';
import { PUBLIC_ONLY } from '../../support/public-egress.ts';
import { PREFIX } from '../../support/request-fixture.ts';
import { type StorageService, startStorageService } from '../../support/storage-service.ts';

describe('a front', () => {
  const space = useMediaWorkspace();
  let store: StorageService;
  let folder: string;
  before(async () => {
    store = await startStorageService();
    folder = mkdtempSync(join(tmpdir(), 'berth-closer-'));
  });
  after(async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends a batch whose window is over without a replica, and names its lines', async () => {
    const { redis, namespace, deployment } = space;
    const services = {
      urlSigner: store.urlSigner,
      spool: await Spool.open({ folder: join(folder, 'spool'), maxBytes: 1_000_000 }),
      uploader: new Uploader({ egress: PUBLIC_ONLY }),
      downloader: new Downloader({ egress: PUBLIC_ONLY }),
      requestPrefix: () => PREFIX,
      promptKey: () => null,
    };
    const id = generateFileId(PREFIX);
    const lines = ['a', 'b'].map((name) => JSON.stringify({ custom_id: name, body: {} })).join('\n');
    const file = await services.spool.hold(
      (async function* () {
        yield Buffer.from(lines);
      })(),
      { maxBytes: 1_000 },
    );
    const key = `inputs/${namespace}/${id}/lines.jsonl`;
    const { objects } = await storeFiles(
      { ...services, redis },
      {
        ...{ namespace, credential: null, removeInMs: 60_000, deadlineMs: 10_000 },
        files: [{ file, key, contentType: 'application/jsonl' }],
      },
    );
    const common = { namespace, deployment, endpoint: '/v1/chat/completions', errors: [], keepMs: 3_600_000 };
    await addFile(redis, {
      ...{ ...common, id, name: 'a.jsonl', bytes: lines.length, lines: 2, object: objects[0]! },
      chunks: [{ start: 0, end: lines.length, line: 1, lines: 2 }],
    });
    const batch = generateBatchId(PREFIX);
    await createBatch(redis, {
      ...{ ...common, id: batch, file: id, window: '1h', windowMs: 0, metadata: '' },
      ...{ outputFile: generateFileId(PREFIX), errorFile: generateFileId(PREFIX) },
      ...{ sha256: 'a'.repeat(64), keyName: 'key' },
    });

    const closer = startBatchCloser({
      ...{ redis, storage: services, log: createLog('silent'), intervalMs: 50 },
      listWorkspaces: async () => [namespace],
    });
    const read = async () => (await readBatches(redis, namespace, [batch]))[0]!;
    await pollUntil(async () => (await read()).status === 'expired', 'the end of the batch');
    await closer.close();
    expect(await read()).to.include({ completed: 0, failed: 2, outputFile: null });
    for await (const { errorObject } of readParts(redis, namespace, { batch, chunks: 1 })) {
      const object = decodeObject(errorObject)!;
      const body = await openObject(services, { namespace, object, signal: AbortSignal.timeout(10_000) });
      const written = (await text(body)).trim().split('\n');
      expect(
        written.map((line) => JSON.parse(line)).map(({ custom_id, error }) => [custom_id, error.code]),
      ).to.eql([
        ['a', 'batch_expired'],
        ['b', 'batch_expired'],
      ]);
    }
    services.uploader.close();
    services.downloader.close();
    await services.spool.close();
  });
});
