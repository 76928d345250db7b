import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { CutOff } from '../../../../gateway/http/errors.ts';
import { ClientDisconnectedError, Exchange } from '../../../../gateway/http/exchange.ts';
import { sendJSON } from '../../../../gateway/http/json-answer.ts';

describe('the end of a gateway without any time', () => {
  const reason = new ApiError('no_pod_available', 'gone');
  let cutOff: CutOff;
  let entered: Promise<unknown>;
  beforeEach(() => {
    cutOff = new CutOff();
  });
  const enter = () => {
    const res = new EventEmitter() as ServerResponse;
    const exchange = new Exchange({ headers: {} } as IncomingMessage, res, 'id');
    type Context = Parameters<CutOff['middleware']>[0];
    entered = Promise.resolve(cutOff.middleware({ state: { exchange } } as Context, async () => {}));
    return exchange;
  };

  it('ends the given requests', () => {
    const [first, second] = [enter(), enter()];
    cutOff.end([first.res], reason);
    expect([first.canceled, second.canceled]).to.deep.equal([reason, null]);
  });

  it('refuses those that come after it and that nobody else answers, and none before', async () => {
    const before = enter();
    cutOff.refuse(reason);
    expect(before.canceled).to.equal(null);
    enter();
    expect(await entered.catch((error: unknown) => error)).to.equal(reason);
    const passed: Exchange[] = [];
    cutOff.refuse(reason, async (exchange) => passed.push(exchange) > 0);
    const after = enter();
    await entered;
    expect(passed).to.deep.equal([after]);
  });

  it('leaves the answer to those who have one already, such as a job that is queued', () => {
    const exchange = enter();
    let sent: unknown[] = [];
    const record = (...head: unknown[]) => {
      sent = head;
    };
    Object.assign(exchange.res, { writeHead: record, end: () => {} });
    cutOff.end([exchange.res], reason);
    sendJSON(exchange, {}, { status: 202 });
    expect(sent[0]).to.equal(202);
    const left = enter();
    left.cancel(new ClientDisconnectedError());
    expect(() => sendJSON(left, {})).to.throw(ClientDisconnectedError);
  });
});
