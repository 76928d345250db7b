import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { type Dispatcher, Pool } from 'undici';
import { joinAnswers } from '../../../kit/joined-answers.ts';
import { pollUntil } from '../../support/poll.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';
const chunk = (text: string) => `1\r\n${text}\r\n`;
const tiny = (count: number) => chunk('x').repeat(count);

describe('an answer in tiny pieces', () => {
  let server: Server;
  let answer: (socket: Socket) => void;
  let pool: Dispatcher;

  before(async () => {
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.setNoDelay(true).on('data', () => answer(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).compose(joinAnswers);
  });
  after(async () => {
    await pool.destroy();
    server.close();
  });

  const dispatch = (onData: (piece: Buffer, controller: Dispatcher.DispatchController) => void) => {
    const call = { end: '', controller: null as Dispatcher.DispatchController | null };
    pool.dispatch(
      { path: '/', method: 'GET' },
      {
        onRequestStart: (controller) => {
          call.controller = controller;
        },
        onResponseStart: () => {},
        onResponseData: (controller, piece) => onData(piece, controller),
        onResponseEnd: () => {
          call.end = 'end';
        },
        onResponseError: (_, error) => {
          call.end = error.message;
        },
      },
    );
    return call;
  };

  it('is passed on in few, with nothing missing', async () => {
    answer = (socket) => socket.write(HEAD + tiny(50_000) + END);
    const pieces: Buffer[] = [];
    const call = dispatch((piece) => pieces.push(piece));
    await pollUntil(() => call.end !== '', 'the end');
    expect(call.end).to.equal('end');
    expect(Buffer.concat(pieces)).to.have.length(50_000);
    expect(pieces.length).to.be.below(2_000);
  });

  it('is passed on as it comes where each piece waits for the one before to be read', async () => {
    let read = '';
    let next = (_text: string) => {};
    answer = (socket) => {
      next = (text) => socket.write(text);
      next(HEAD + chunk('0'));
    };
    const call = dispatch((piece) => {
      read += piece;
      next(read.length < 30 ? chunk(String(read.length % 10)) : END);
    });
    await pollUntil(() => call.end === 'end', 'the end');
    expect(read).to.equal('0123456789'.repeat(3));
  });

  it('waits while its reader is paused, and goes on after it', async () => {
    answer = (socket) => socket.write(HEAD + tiny(20_000) + END);
    let length = 0;
    let isPaused = true;
    const call = dispatch((piece, controller) => {
      length += piece.length;
      if (isPaused) controller.pause();
    });
    await pollUntil(() => length > 0, 'the first piece');
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(length).to.be.below(2_000);
    isPaused = false;
    call.controller!.resume();
    await pollUntil(() => call.end === 'end', 'the end');
    expect(length).to.equal(20_000);
  });

  it('fails with the error of its reader', async () => {
    answer = (socket) => socket.write(HEAD + tiny(500) + END);
    let count = 0;
    const call = dispatch(() => {
      if (++count === 9) throw new Error('unreadable');
    });
    await pollUntil(() => call.end !== '', 'the end');
    expect(call.end).to.equal('unreadable');
  });
});
