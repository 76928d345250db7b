import { createReadStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';

/** What docs/api.md says of the SDK alone, at a server that answers 503 once, as a cold model does. */
describe("OpenAI's SDK for Node, whose form finds a model that is starting", () => {
  let server: Server;
  let folder: string;
  let path: string;
  let client: OpenAI;
  /** Bodies, as they came. */
  const received: Buffer[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-uploads-'));
    path = join(folder, 'harbor.wav');
    await writeFile(path, 'a sound');
    server = createServer(async (req, res) => {
      received.push(await buffer(req));
      const isFirst = received.length === 1;
      res.writeHead(isFirst ? 503 : 200, { 'content-type': 'application/json', 'retry-after': '0.01' });
      res.end(JSON.stringify(isFirst ? { error: { message: 'starting' } } : { text: 'waves' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'sk-none' });
  });
  beforeEach(() => received.splice(0));
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const files = {
    'toFile of a read stream': async () => toFile(createReadStream(path)),
    'a File': async () => new File([await openAsBlob(path)], 'harbor.wav'),
  };
  for (const [what, open] of Object.entries(files))
    it(`sends ${what} again`, async () => {
      const { text } = await client.audio.transcriptions.create({ model: 'm', file: await open() });
      expect(text).to.equal('waves');
      expect(received).to.have.length(2);
      for (const body of received)
        expect(String(body)).to.include('filename="harbor.wav"').and.to.include('a sound');
    });

  it('never sends a read stream again: the 503 reaches the caller', async () => {
    const file = createReadStream(path);
    const error = await client.audio.transcriptions.create({ model: 'm', file }).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(OpenAI.InternalServerError);
    expect(error.status).to.equal(503);
    expect(received).to.have.length(1);
  });
});
