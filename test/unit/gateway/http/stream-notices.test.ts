import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { StreamNotices } from '../../../../gateway/http/stream-notices.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

describe('a stream whose first event takes long', () => {
  const open = (intervalMs: number, url = '/v1/chat/completions') => {
    const clock = new FakeClock();
    const sent: string[] = [];
    const res = Object.assign(new EventEmitter(), {
      useChunkedEncodingByDefault: false,
      writeHead: (status: number) => sent.push(String(status)),
      write: (text: string) => sent.push(text),
    });
    const req = { url, headers: {} } as Exchange['req'];
    const exchange = new Exchange(req, res as unknown as ServerResponse, 'id');
    const notices = new StreamNotices({ exchange, intervalMs, describe: () => 'waiting', clock });
    return { clock, sent, exchange, notices };
  };

  it('gets comments, the head with the first', async () => {
    const { clock, sent } = open(15_000);
    await clock.advance(14_999);
    expect(sent).to.deep.equal([]);
    await clock.advance(1);
    expect(sent).to.deep.equal(['200', ': waiting\n\n']);
    await clock.advance(15_000);
    expect(sent.slice(2)).to.deep.equal([': waiting\n\n']);
  });

  it('gets pings where it is one of messages', async () => {
    const { clock, sent } = open(15_000, '/v1/messages');
    await clock.advance(15_000);
    expect(sent).to.deep.equal(['200', 'event: ping\ndata: {"type":"ping"}\n\n']);
  });

  it('gets none after its first event, nor once it has ended', async () => {
    for (const end of [
      ({ exchange }: ReturnType<typeof open>) => void exchange.openStream(),
      ({ notices }: ReturnType<typeof open>) => notices.stop(),
    ]) {
      const stream = open(15_000);
      await stream.clock.advance(15_000);
      end(stream);
      await stream.clock.advance(60_000);
      expect(stream.sent).to.have.length(2);
      expect(stream.clock.pending).to.equal(0);
    }
  });

  it('gets none where they are turned off, and no more than one each second', async () => {
    const off = open(0);
    expect(off.clock.pending).to.equal(0);
    const { clock, sent } = open(1);
    await clock.advance(999);
    expect(sent).to.deep.equal([]);
    await clock.advance(2_001);
    expect(sent).to.have.length(4);
  });
});
