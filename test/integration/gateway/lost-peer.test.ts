import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import type { Capacity, EngineTarget } from '../../../gateway/capacity/capacity.ts';
import { startScriptedEngine } from '../../support/text-endpoint.ts';
import { startTextFixture, type TextFixture } from '../../support/text-fixture.ts';

describe('a request that a peer is to answer', () => {
  let fixture: TextFixture;
  let peer: Awaited<ReturnType<typeof startScriptedEngine>>;
  let listener: RequestListener;
  let taken: number;
  let lost: string[];

  const take = (origin: string, local: boolean): { target: EngineTarget } => {
    taken++;
    let isHeld = true;
    const release = () => {
      if (isHeld) taken--;
      isHeld = false;
    };
    return { target: { origin, pathPrefix: '', headers: {}, local, release } };
  };
  before(async () => {
    peer = await startScriptedEngine((req, res) => listener(req, res));
    const capacity: Capacity = {
      acquire: () => take(peer.url, false),
      acquireElsewhere: (origins) => {
        lost = [...origins];
        return take(fixture.simulator.url, true);
      },
    };
    fixture = await startTextFixture({ capacity });
  });
  after(async () => {
    await fixture?.stop();
    await peer?.stop();
  });
  beforeEach(() => {
    taken = 0;
    lost = [];
  });

  for (const { what, answer } of [
    { what: 'is gone before it answers', answer: (req, res) => req.resume().on('end', () => res.destroy()) },
    {
      what: 'has lost its engine',
      answer: (_, res) => res.writeHead(502, { 'x-berth-unsent': '1' }).end(),
    },
  ] satisfies { what: string; answer: RequestListener }[])
    for (const stream of [false, true])
      it(`runs at another replica when the peer ${what}, ${stream ? 'streamed' : 'whole'}`, async () => {
        listener = answer;
        const response = await fixture.chat({ stream });
        expect(response.status).to.equal(200);
        expect(await response.text()).to.match(stream ? /\[DONE\]\s*$/ : /"finish_reason":/);
        expect(lost).to.deep.equal([peer.url]);
        expect(taken).to.equal(0);
      });

  it('ends with the error when the engine of the peer failed at it', async () => {
    listener = (_, res) => res.writeHead(500).end('{"error":{"message":"no"}}');
    const response = await fixture.chat();
    expect(response.status).to.equal(502);
    expect(lost).to.deep.equal([]);
    expect(taken).to.equal(0);
  });

  it('ends with the error when the answer had begun', async () => {
    listener = (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n');
      setImmediate(() => res.destroy());
    };
    const response = await fixture.chat({ stream: true });
    expect(await response.text()).to.match(/"code":"upstream_error"/);
    expect(lost).to.deep.equal([]);
  });

  it('ends with the error when an answer that is no stream had begun', async () => {
    listener = (_, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      res.write('{"choices":', () => res.destroy());
    };
    const response = await fixture.chat({ stream: true });
    expect(response.status).to.equal(502);
    expect(lost).to.deep.equal([]);
    expect(taken).to.equal(0);
  });
});
