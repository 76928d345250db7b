import { expect } from 'chai';
import { CSRF_HEADER } from '../../console/api.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import type { LocalStack } from '../support/local-stack.ts';
import { ROWS, type Row } from './raw-rows.ts';
import { shareStack } from './shared-stack.ts';

const CLOSE_MS = 5_000;

interface Program {
  port: number;
  values: Record<string, string>;
  /** Answered with 404, and with itself. */
  unknown: string;
}

const PROGRAMS = ['sidecar', 'front', 'console'] as const;

describe('a request as it is on the wire', () => {
  let programs: Program[];
  before(async function () {
    this.timeout(150_000);
    programs = describePrograms(await shareStack());
  });

  PROGRAMS.forEach((name, column) => {
    for (const [group, rows] of Object.entries(ROWS))
      it(`is answered by the ${name} as the table says: ${group}`, async () => {
        const program = programs[column]!;
        const expected = rows.map((row) => [row[0], typeof row[2] === 'string' ? row[2] : row[2][column]]);
        const seen: unknown[] = [];
        for (const [index, row] of rows.entries())
          seen.push([row[0], await observe(program, row, expected[index]![1]!)]);
        expect(seen).to.deep.equal(expected);
      });
  });
});

/** In the words of the table; then two more requests must get their own answers. */
async function observe(program: Program, [, sent]: Row, expected: string): Promise<string> {
  const method = /^\s*(\S+)/.exec(sent)![1]!;
  let connection = await KeptConnection.open(program.port);
  try {
    await connection.write(fill(sent, program.values));
    const words: (string | number)[] = [];
    const count = expected.split(' ').filter((word) => Number(word) >= 200).length;
    for (let answer = 0; answer < count; answer++) {
      const read = await connection.read({ method });
      if (!read) break;
      words.push(...read.interim, read.status);
      // As every answer must (RFC 9110, 6.6.1 and 15.5.6).
      if (!read.headers.date) words.push('without Date');
      if (read.status === 405 && !read.headers.allow) words.push('without Allow');
    }
    const isClosed = expected.endsWith('closed') ? await connection.closes(CLOSE_MS) : connection.isClosed;
    if (isClosed) connection = await KeptConnection.open(program.port);
    await ask(connection, program);
    return [...words, isClosed ? 'closed' : 'open'].join(' ');
  } catch (error) {
    return (error as Error).message;
  } finally {
    connection.end();
  }
}

async function ask(connection: KeptConnection, { values, unknown }: Program): Promise<void> {
  for (const [path, status] of [
    [values.path!, 200],
    [unknown, 404],
  ] as const) {
    await connection.write(fill(`GET ${path} HTTP/1.1\nHost: {host}\n{fields}\n\n`, values));
    const answer = await connection.read();
    if (answer?.status !== status || (status === 404 && !answer.body.includes(unknown)))
      throw new Error(`${path}: ${answer ? `${answer.status} ${answer.body.slice(0, 200)}` : 'closed'}`);
  }
}

function fill(text: string, values: Record<string, string>): string {
  const filled = text.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
  return filled.replaceAll('\n', '\r\n').replaceAll('␊', '\n').replaceAll('␍', '\r');
}

function describePrograms({ endpoints, find }: LocalStack): Program[] {
  const chat = find('LLM');
  const json = 'Content-Type: application/json';
  const gateway = (url: string, host: string): Program =>
    describe({
      url,
      host,
      path: '/v1/models',
      post: '/v1/chat/completions',
      fields: `Authorization: Bearer ${chat.apiKey}\n${json}`,
      body: '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1}',
      unknown: '/v1/unknown-path',
    });
  const console = endpoints.console!.url;
  return [
    gateway(chat.baseURL, new URL(chat.baseURL).host),
    gateway(endpoints.unknownURL, `${chat.name}.${chat.namespace}.svc`),
    describe({
      url: console,
      host: new URL(console).host,
      path: '/healthz',
      post: '/api/session',
      fields: `Origin: ${new URL(console).origin}\n${CSRF_HEADER}: 1\n${json}`,
      body: '{"no":"token"}',
      unknown: '/api/unknown-path',
    }),
  ];

  function describe({ url, unknown, ...values }: Record<string, string>): Program {
    const size = values.body!.length;
    const hex = size.toString(16);
    return {
      port: Number(new URL(url!).port),
      unknown: unknown!,
      values: {
        ...values,
        length: String(size),
        size: hex,
        SIZE: hex.toUpperCase(),
        chunks: `${hex}\n${values.body}\n0\n\n`,
      },
    };
  }
}
