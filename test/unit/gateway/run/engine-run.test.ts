import { expect } from 'chai';
import { AdapterMissingError, EngineMemoryError } from '../../../../gateway/engine/engine-error.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { noteFailure } from '../../../../gateway/run/engine-run.ts';

describe('a failed run at an engine', () => {
  const note = (error: unknown) => {
    const seen: string[] = [];
    noteFailure(error, {
      metrics: { engineErrors: { inc: ({ reason }: { reason: string }) => seen.push(reason) } },
      onEngineLost: () => seen.push('probed'),
    } as unknown as Parameters<typeof noteFailure>[1]);
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

  it('is not counted where the client is at fault', () => {
    expect(note(new ApiError('invalid_request_error', 'No.'))).to.deep.equal([]);
    expect(note(new Error('the client left'))).to.deep.equal([]);
  });
});
