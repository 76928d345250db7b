import { expect } from 'chai';
import { CHUNK_LINES, MAX_BATCH_LINE_BYTES, MAX_BATCH_LINES } from '../../../../api/batch.ts';
import { type FileScan, scanFile } from '../../../../gateway/batches/file-scan.ts';
import { parseBody } from '../../../../gateway/http/body-parsing.ts';

const PATH = '/v1/chat/completions';

describe('the check of a batch file', () => {
  it('notes lines, endpoint and chunks of a good one, across any pieces', async () => {
    const text = `${lineOf('a')}\r\n\n${lineOf('b')}\n${lineOf('ç')}`;
    for (const size of [1, 7, 64, 10_000]) {
      const { chunks, ...scan } = await check(text, size);
      expect(scan).to.eql({ lines: 3, endpoint: PATH, errors: [] });
      expect(chunks).to.eql([{ start: 0, end: Buffer.byteLength(text), line: 1, lines: 3 }]);
    }
  });

  it('starts a chunk every so many lines, where a line starts', async () => {
    const lines = Array.from({ length: 2 * CHUNK_LINES + 1 }, (_, index) => lineOf(`line-${index}`));
    const text = lines.join('\n');
    const { chunks } = await check(text);
    expect(chunks.map(({ lines: count }) => count)).to.eql([CHUNK_LINES, CHUNK_LINES, 1]);
    expect(chunks.map(({ line }) => line)).to.eql([1, CHUNK_LINES + 1, 2 * CHUNK_LINES + 1]);
    for (const { start, line } of chunks)
      expect(text.slice(start, start + lines[line - 1]!.length)).to.equal(lines[line - 1]);
  });

  const faults: Record<string, [string, string, string | null]> = {
    'no JSON': ['{"custom_id": "secret', 'invalid_json_line', null],
    'a list': ['[]', 'invalid_json_line', null],
    'no custom_id': [lineOf(undefined), 'invalid_custom_id', 'custom_id'],
    'a long custom_id': [lineOf('x'.repeat(600)), 'invalid_custom_id', 'custom_id'],
    'another method': [lineOf('a', { method: 'GET' }), 'invalid_method', 'method'],
    'a url of another kind': [lineOf('a', { url: '/v1/embeddings' }), 'invalid_url', 'url'],
    'no body': [lineOf('a', { body: 'text' }), 'invalid_body', 'body'],
    'another model': [lineOf('a', { body: { model: 'gpt' } }), 'mismatched_model', 'body.model'],
    'a stream': [lineOf('a', { body: { stream: true } }), 'invalid_stream', 'body.stream'],
  };
  for (const [name, [line, code, param]] of Object.entries(faults))
    it(`names the line of ${name}`, async () => {
      const { errors, chunks } = await check(`${lineOf('first')}\n${line}`);
      expect(errors.map((error) => ({ ...error, message: '' }))).to.eql([
        { code, message: '', param, line: 2 },
      ]);
      expect(errors[0]!.message).not.to.contain('secret');
      expect(chunks).to.eql([]);
    });

  it('finds ids that are used twice, and urls that differ', async () => {
    const other = { url: '/v1/completions' };
    const { errors } = await check([lineOf('a'), lineOf('b', other), lineOf('a')].join('\n'));
    expect(errors.map(({ code, line }) => `${code} ${line}`)).to.eql([
      'mismatched_url 2',
      'duplicate_custom_id 3',
    ]);
  });

  it('keeps nothing of a line that is too long', async () => {
    let most = 0;
    async function* source() {
      for (let left = 3 * MAX_BATCH_LINE_BYTES; left > 0; left -= 65_536) {
        most = Math.max(most, process.memoryUsage().arrayBuffers);
        yield Buffer.alloc(65_536, 'x');
      }
      yield Buffer.from(`\n${lineOf('a')}`);
    }
    const before = process.memoryUsage().arrayBuffers;
    const { errors, lines } = await scanFile(source(), options);
    expect(errors.map(({ code, line }) => `${code} ${line}`)).to.eql(['line_too_long 1']);
    expect(lines).to.equal(2);
    expect(most - before).to.be.below(8 * MAX_BATCH_LINE_BYTES);
  });

  it('refuses an empty file and one of too many lines', async function () {
    this.timeout(20_000);
    expect((await check('\n \r\n')).errors.map(({ code }) => code)).to.eql(['empty_file']);
    async function* many() {
      for (let index = 0; index <= MAX_BATCH_LINES; index++) yield Buffer.from(`${lineOf(`id-${index}`)}\n`);
    }
    const { errors } = await scanFile(many(), options);
    expect(errors.map(({ code }) => code)).to.eql(['too_many_lines']);
  });

  it('ends at its 20th error', async () => {
    const { errors } = await check('x\n'.repeat(100));
    expect(errors).to.have.length(20);
  });
});

const options = {
  modelId: 'berth/chat',
  paths: [PATH, '/v1/completions'],
  parse: (bytes: Buffer, interpret: (body: ReturnType<typeof parseBody>) => never) =>
    interpret(parseBody(bytes)),
} as unknown as Parameters<typeof scanFile>[1];

function lineOf(customId: string | undefined, changes: object = {}): string {
  return JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: PATH,
    body: { messages: [] },
    ...changes,
  });
}

function check(text: string, size = 100): Promise<FileScan> {
  const bytes = Buffer.from(text);
  async function* source() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return scanFile(source(), options);
}
