import { createServer, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { EngineMemoryError } from '../../../../gateway/engine/engine-error.ts';
import { generateImages } from '../../../../gateway/engine/image-call.ts';
import type { ApiError } from '../../../../gateway/http/error-response.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';

describe('a call of an image engine that fails', () => {
  let answer: (res: ServerResponse) => void;
  const server = createServer((req, res) => {
    req.resume().on('end', () => answer(res));
  });
  const pools = new Pools();
  before(() => listen(server, 0, '127.0.0.1'));
  after(async () => {
    await pools.destroy();
    server.closeAllConnections();
    await closeServer(server, 0);
  });

  const fail = async (
    status: number,
    body: string,
    ranOutOfMemory: (since: number) => Promise<boolean> = async () => false,
  ): Promise<{ error: ApiError; releases: number }> => {
    answer = (res) => res.writeHead(status, { 'content-type': 'text/plain' }).end(body);
    let releases = 0;
    const error = await generateImages({
      pool: pools.get(`http://127.0.0.1:${readServerPort(server)}`),
      target: { pathPrefix: '', headers: {} },
      requestId: 'req_1',
      servedModelName: 'm',
      parameters: { task: 'txt2img', prompt: 'a', n: 1, size: '64x64' },
      files: { images: [], mask: null, maskField: 'mask' },
      signal: new AbortController().signal,
      onRelease: () => releases++,
      ranOutOfMemory,
    }).then(
      () => expect.fail('it has images'),
      (thrown: ApiError) => thrown,
    );
    return { error, releases };
  };

  for (const body of ['Internal Server Error', 'Internal Server Error\n'])
    it(`without a reason says what it may be, and where the reason is: ${JSON.stringify(body)}`, async () => {
      const { error, releases } = await fail(500, body);
      expect(error.code).to.equal('upstream_error');
      expect(error.message).to.equal(
        'The engine failed without a reason. It may lack GPU memory: try a smaller `size`, or fewer images. See its log for the cause.',
      );
      expect(releases).to.equal(1);
    });

  it('without a reason lacked memory where the engine noted that since the request began', async () => {
    const startedAt = Date.now();
    let asked = 0;
    const { error, releases } = await fail(500, 'Internal Server Error', async (since) => {
      asked = since;
      return true;
    });
    expect(error).to.be.instanceOf(EngineMemoryError);
    expect(error.message).to.equal(
      'The engine ran out of memory: try a smaller `size`, or fewer images. See its log for the cause.',
    );
    expect(asked).to.be.within(startedAt, Date.now());
    expect(releases).to.equal(1);
  });

  it('with a reason tells that', async () => {
    const { error } = await fail(500, JSON.stringify({ detail: 'Unsupported scheduler' }), () =>
      expect.fail('nobody asks'),
    );
    expect(error.message).to.include('Unsupported scheduler');
    expect(error.message).to.not.include('GPU memory');
  });

  it('for lack of memory is told as such', async () => {
    const { error } = await fail(
      500,
      JSON.stringify({ detail: 'CUDA out of memory. Tried to allocate 2 GiB' }),
    );
    expect(error).to.be.instanceOf(EngineMemoryError);
  });
});
