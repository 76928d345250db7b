import { expect } from 'chai';
import { openLog, type PlainFields, writePlain } from '../../../kit/log.ts';

const TIME = /"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/;

describe('a line of plain fields', () => {
  const lines: string[] = [];
  const log = openLog({
    level: 'info',
    base: { namespace: 'team', quoted: 'a "word"' },
    write: (line) => lines.push(line),
  });
  beforeEach(() => {
    lines.length = 0;
  });

  /** Both must be equal except for the time. */
  function writeBoth(fields: PlainFields): [plain: string, pino: string] {
    writePlain(log, 'info', { fields, message: 'request' });
    log.info(fields, 'request');
    for (const line of lines) expect(line).to.match(TIME);
    return lines.splice(0).map((line) => line.replace(TIME, '"time":""')) as [string, string];
  }

  it('is what pino writes, field for field', () => {
    const [plain, pino] = writeBoth({
      request_id: '0c1c5a6e-4f0a:/+=.1',
      trace_id: undefined,
      method: 'POST',
      status: 200,
      error: 'rate_limit_exceeded',
      client_disconnected: true,
      duration_ms: 0,
      cost: 0.000123,
      tiny: 1e-7,
      'with-dash': 'x',
    });
    expect(plain).to.equal(pino);
    expect(JSON.parse(plain)).to.include({ level: 30, namespace: 'team', message: 'request', status: 200 });
  });

  const awkward: PlainFields[] = [
    { request_id: 'a"b' },
    { request_id: 'a\\b' },
    { request_id: 'a\nb' },
    { request_id: 'a\u2028b' },
    { request_id: 'é' },
    { request_id: '\ud800' },
    { request_id: '' },
    { request_id: '__proto__' },
    { cost: Number.NaN },
    { cost: Number.POSITIVE_INFINITY },
    { cost: -0 },
    { error: 'sk-0123456789abcdef' },
    { error: 'AKIA0123456789ABCDEF' },
    { reason: 'redis://user:password@host' },
    { reason: 'Bearer abcdef' },
    { err: 'sk-0123456789abcdef' },
  ];
  for (const fields of awkward)
    it(`is what pino writes of ${JSON.stringify(fields)}, too`, () => {
      const [plain, pino] = writeBoth(fields);
      expect(plain).to.equal(pino);
    });

  it('has no secrets', () => {
    expect(writeBoth({ error: 'sk-0123456789abcdef' })[0]).to.include('sk-…');
    expect(writeBoth({ error: 'AKIA0123456789ABCDEF' })[0]).to.include('AKIA…');
  });

  it('is that of a child, whose bindings it has', () => {
    writePlain(log.child({ job: 'x' }), 'info', { fields: { status: 1 }, message: 'request' });
    expect(JSON.parse(lines[0]!)).to.include({ namespace: 'team', job: 'x', status: 1 });
  });

  it('is not written below the level', () => {
    writePlain(log, 'debug', { fields: {}, message: 'request' });
    expect(lines).to.deep.equal([]);
  });
});
