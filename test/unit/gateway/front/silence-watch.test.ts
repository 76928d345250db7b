import { createServer } from 'node:http';
import { expect } from 'chai';
import { proxyRequest } from '../../../../gateway/front/proxy.ts';
import { ReplicaPicker } from '../../../../gateway/front/replica-picker.ts';
import { canConnect, SilenceWatch } from '../../../../gateway/front/silence-watch.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { pollUntil } from '../../../support/poll.ts';

describe('a replica that sends nothing', () => {
  function watch(answers: boolean[]) {
    const clock = new FakeClock();
    let checks = 0;
    const silence = new SilenceWatch(async () => answers[checks++] ?? true, clock);
    const lost: string[] = [];
    const enter = (name: string) => silence.watch('10.0.0.1', () => lost.push(name));
    return { clock, lost, enter, checks: () => checks };
  }

  it('loses all its requests if it cannot be reached twice, and is watched anew', async () => {
    const { clock, lost, enter } = watch([false, false]);
    enter('first');
    enter('second');
    await clock.advance(4_900);
    expect(lost).to.deep.equal([]);
    await clock.advance(200);
    expect(lost).to.deep.equal(['first', 'second']);
    enter('third');
    await clock.advance(20_000);
    expect(lost).to.deep.equal(['first', 'second']);
  });

  it('keeps its requests while it can be reached, however long it thinks', async () => {
    const { clock, lost, enter, checks } = watch([true, false, true]);
    enter('slow');
    await clock.advance(60_000);
    expect(lost).to.deep.equal([]);
    expect(checks()).to.be.within(5, 13);
  });

  it('is not checked while one of its requests gets something, nor without a request', async () => {
    const { clock, enter, checks } = watch([]);
    const request = enter('stream');
    for (let second = 0; second < 20; second++) {
      await clock.advance(1_000);
      request.hear();
    }
    request.leave();
    await clock.advance(60_000);
    expect(checks()).to.equal(0);
    expect(clock.pending).to.equal(0);
  });

  it('is told from one that refuses connections, which is there', async () => {
    const server = createServer();
    await listen(server, 0, '127.0.0.1');
    const port = readServerPort(server);
    expect(await canConnect('127.0.0.1', port)).to.equal(true);
    await closeServer(server, 0);
    expect(await canConnect('127.0.0.1', port)).to.equal(true);
  });

  it('is given up by the front, whose other requests try another one first', async () => {
    const clock = new FakeClock();
    const silence = new SilenceWatch(async () => false, clock);
    const picker = new ReplicaPicker(clock);
    const pools = new Pools();
    let asked = 0;
    // It has the request, and says nothing.
    const replica = createServer(() => asked++);
    await listen(replica, 0, '127.0.0.1');
    const options = { pools, picker, silence, replicaPort: readServerPort(replica) };
    const outcomes: string[] = [];
    const front = createServer(async (req, res) => {
      const exchange = new Exchange(req, res, 'id');
      outcomes.push(await proxyRequest(options, { exchange, addresses: ['127.0.0.1'] }));
      res.end();
    });
    await listen(front, 0, '127.0.0.1');
    const answer = fetch(`http://127.0.0.1:${readServerPort(front)}`);
    await pollUntil(() => asked === 1, 'the request at the replica');
    await clock.advance(5_000);
    await (await answer).text();
    expect(outcomes).to.deep.equal(['lost']);
    for (let turn = 0; turn < 3; turn++)
      expect(picker.rank(['127.0.0.1', '10.0.0.2'])[0]).to.equal('10.0.0.2');
    await clock.advance(10_000);
    const firsts = [0, 1].map(() => picker.rank(['127.0.0.1', '10.0.0.2'])[0]);
    expect(new Set(firsts)).to.deep.equal(new Set(['127.0.0.1', '10.0.0.2']));
    await pools.destroy();
    for (const server of [front, replica]) server.close().closeAllConnections();
  });
});
