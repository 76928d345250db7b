import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Acquisition } from '../../../../gateway/capacity/capacity.ts';
import { AdapterMissingError, EngineMemoryError } from '../../../../gateway/engine/engine-error.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { Exchange, type GatewayState } from '../../../../gateway/http/exchange.ts';
import { describeRequestLine } from '../../../../gateway/http/request-log.ts';
import { acquireTarget, noteFailure } from '../../../../gateway/run/engine-run.ts';

describe('a failed run at an engine', () => {
  const note = (error: unknown, isOwn?: boolean) => {
    const seen: string[] = [];
    const services = {
      metrics: { engineErrors: { inc: ({ reason }: { reason: string }) => seen.push(reason) } },
      onEngineLost: () => seen.push('probed'),
    } as unknown as Parameters<typeof noteFailure>[1];
    noteFailure(error, services, isOwn);
    return seen;
  };

  it('has the engine’s health probed, and is counted', () =>
    expect(note(new ApiError('upstream_error', 'It broke.'))).to.deep.equal(['upstream_error', 'probed']));

  it('says nothing of the engine’s health where it had too little memory for the request', () =>
    expect(note(new EngineMemoryError('use a shorter prompt'))).to.deep.equal(['out_of_memory']));

  it('has it probed, and its adapters loaded again, where it did not know one', () =>
    expect(note(new AdapterMissingError())).to.deep.equal(['no_pod_available', 'probed']));

  it('says nothing of it where its time was up', () =>
    expect(note(new ApiError('request_timeout', 'Too late.', { status: 504 }))).to.deep.equal([
      'request_timeout',
    ]));

  it('says nothing of the own engine where another version failed', () => {
    const error = new ApiError('upstream_error', 'It broke.');
    expect(note(error, false)).to.deep.equal([]);
    expect(note(error, true)).to.deep.equal(['upstream_error', 'probed']);
  });

  it('is not counted where the client is at fault', () => {
    expect(note(new ApiError('invalid_request_error', 'No.'))).to.deep.equal([]);
    expect(note(new Error('the client left'))).to.deep.equal([]);
  });
});

describe('the line of a request in the log', () => {
  const WAIT_MS = 15;
  const slot = { target: { release: () => {} } } as Acquisition;

  async function readWait(acquire: () => Acquisition | Promise<Acquisition>): Promise<number | undefined> {
    const exchange = new Exchange(
      { headers: {} } as IncomingMessage,
      new EventEmitter() as ServerResponse,
      'id',
    );
    const capacity = { acquire, acquireElsewhere: acquire };
    const config = () => {
      throw new Error('not needed');
    };
    await acquireTarget({ capacity, config }, { exchange, keyHash: 'k' } as GatewayState);
    return describeRequestLine({ exchange, keyHash: 'k' }, { route: 'r', status: 200, durationMs: 20 })
      .wait_ms;
  }

  it('says how long the request waited for a slot', async () => {
    expect(await readWait(() => delay(WAIT_MS, slot))).to.be.at.least(WAIT_MS - 1);
  });

  it('says nothing of a wait where a slot was free', async () => {
    expect(await readWait(() => slot)).to.equal(undefined);
  });
});
