import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import OpenAI from 'openai';
import { publishHost } from '../../../redis/publication/publication.ts';
import { makeSamples, wrapWAV } from '../../../simulator/sounds.ts';
import {
  type ColdDeployment,
  COLD_HOST as HOST,
  startColdDeployment,
} from '../../support/cold-deployment.ts';
import { KeptConnection } from '../../support/kept-connection.ts';
import { API_KEY } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';

const WAV = wrapWAV(makeSamples(['a', 'ship', 'leaves'], 0.5));
const BOUNDARY = 'sound-of-waves';
const FORM = Buffer.concat([
  Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="model"\r\n\r\nberth/chat\r\n`),
  Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="ship.wav"\r\n\r\n`),
  WAV,
  Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
]);
const HEAD = [
  'POST /v1/audio/transcriptions HTTP/1.1',
  `host: ${HOST}`,
  `authorization: Bearer ${API_KEY}`,
  `content-type: multipart/form-data; boundary=${BOUNDARY}`,
  `content-length: ${FORM.length}`,
  'expect: 100-continue',
  '',
  '',
].join('\r\n');

describe('an upload that waits for a replica', () => {
  let cold: ColdDeployment;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-held-'));
    cold = await startColdDeployment({ kind: 'Transcription' }, { SIMULATOR_KIND: 'Transcription' });
  });
  after(async () => {
    await cold?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const untilHeld = (count = 1) =>
    pollUntil(async () => (await cold.countHeld()) === count, `${count} to be held`);
  const sleep = async (holdForMs = 60_000) => {
    await cold.sleep({ scaling: { coldStart: 'Hold', holdForMs, loadTimeMs: 40_000 } });
    await untilHeld(0);
  };
  const openConnection = () => KeptConnection.open(Number(new URL(cold.front.origin).port));

  it("is served although OpenAI's SDK for Node cannot send its stream again", async () => {
    // Node's fetch sends no Host header of the caller's.
    await publishHost(cold.stack.redis, '127.0.0.1', { namespace: 'team', name: 'chat' });
    const path = join(folder, 'ship.wav');
    writeFileSync(path, WAV);
    await sleep();
    const client = new OpenAI({ baseURL: `${cold.front.origin}/v1`, apiKey: API_KEY });
    const file = createReadStream(path);
    const heard = client.audio.transcriptions.create({ model: 'berth/chat', file });
    await untilHeld();
    await cold.awaken();
    expect((await heard).text).to.match(/^[A-Z].+\.$/);
  });

  it('is not asked for before its replica is there', async () => {
    await sleep();
    const connection = await openConnection();
    await connection.write(HEAD);
    await untilHeld();
    expect(connection.received).to.equal('');
    await cold.awaken();
    await pollUntil(async () => connection.received.startsWith('HTTP/1.1 100 '), 'it to be asked for');
    await connection.write(FORM);
    const { status, body, interim } = (await connection.read())!;
    expect({ status, interim }, body).to.deep.equal({ status: 200, interim: [100] });
    connection.end();
  });

  it('is never asked for where no replica comes in time', async () => {
    await sleep(1_500);
    const connection = await openConnection();
    await connection.write(HEAD);
    const { status, headers, interim } = (await connection.read())!;
    expect({ status, interim }).to.deep.equal({ status: 503, interim: [] });
    expect(Number(headers['retry-after'])).to.be.within(20, 40);
    connection.end();
  });
});
