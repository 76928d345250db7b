import { expect } from 'chai';
import { findEngineError, readEngineError } from '../../../../gateway/engine/engine-error.ts';

const read = (status: number, body: unknown) =>
  readEngineError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

describe('the error of an engine', () => {
  const cases: [
    string,
    number,
    unknown,
    { status: number; code: string; message: RegExp; param?: string },
  ][] = [
    [
      'vLLM: nested, integer code',
      400,
      { error: { message: 'too long', type: 'BadRequestError', param: 'messages', code: 400 } },
      { status: 400, code: 'invalid_request_error', message: /^too long$/, param: 'messages' },
    ],
    [
      'a finer code of the engine',
      400,
      { error: { message: 'too long', code: 'context_length_exceeded' } },
      { status: 400, code: 'context_length_exceeded', message: /^too long$/ },
    ],
    [
      'TEI: flat',
      413,
      { message: 'batch size', code: 413, type: 'validation' },
      { status: 413, code: 'request_too_large', message: /^batch size$/ },
    ],
    [
      'TEI: validation',
      422,
      { message: 'inputs', type: 'validation' },
      { status: 422, code: 'invalid_request_error', message: /inputs/ },
    ],
    [
      'TEI: overloaded',
      429,
      { message: 'no permits', type: 'overloaded' },
      { status: 429, code: 'replica_saturated', message: /no permits/ },
    ],
    ['detail', 500, { detail: 'boom' }, { status: 502, code: 'upstream_error', message: /boom/ }],
    [
      'detail as a list',
      400,
      { detail: [{ loc: ['body'], msg: 'bad' }] },
      { status: 400, code: 'invalid_request_error', message: /bad/ },
    ],
    [
      'error as a text',
      503,
      { error: 'Loading model' },
      { status: 502, code: 'upstream_error', message: /Loading model/ },
    ],
    [
      'plain text',
      500,
      'Internal Server Error',
      { status: 502, code: 'upstream_error', message: /Internal Server Error/ },
    ],
    ['a page', 502, '<html>bad</html>', { status: 502, code: 'upstream_error', message: /status 502/ }],
    ['nothing', 500, '', { status: 502, code: 'upstream_error', message: /status 500/ }],
    [
      'its own model name is unknown',
      404,
      { error: { message: 'no such model', code: 404 } },
      { status: 502, code: 'upstream_error', message: /no such model/ },
    ],
    [
      'the engine wants a key',
      401,
      { error: 'Unauthorized' },
      { status: 502, code: 'upstream_error', message: /Unauthorized/ },
    ],
    [
      'out of memory',
      500,
      { error: { message: 'CUDA out of memory. Tried' } },
      { status: 502, code: 'upstream_error', message: /ran out of memory/ },
    ],
    [
      'out of memory as a 400',
      400,
      { error: { message: 'torch.OutOfMemoryError: x' } },
      { status: 502, code: 'upstream_error', message: /ran out of memory/ },
    ],
  ];
  for (const [what, status, body, expected] of cases)
    it(`is put into one shape: ${what}`, () => {
      const error = read(status, body);
      expect(error.status).to.equal(expected.status);
      expect(error.details.detailCode ?? error.code).to.equal(expected.code);
      expect(error.message).to.match(expected.message);
      expect(error.details.param ?? undefined).to.equal(expected.param);
    });

  it('cuts long messages', () => {
    expect(read(500, 'x'.repeat(100_000)).message.length).to.be.below(3000);
  });

  const good: unknown[] = [
    { choices: [], object: 'chat.completion' },
    { object: 'list', data: [] },
    { choices: [{ message: { content: 'error' } }], error: null },
    'text',
    null,
  ];
  for (const value of good)
    it(`is not seen in ${JSON.stringify(value)}`, () => {
      expect(findEngineError(value)).to.equal(null);
    });
});
