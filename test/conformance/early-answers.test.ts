import { expect } from 'chai';
import { CSRF_HEADER } from '../../console/api.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import type { LocalStack } from '../support/local-stack.ts';
import { shareStack } from './shared-stack.ts';

/** A client that reuses the connection waits for its next answer for less than this. */
const MAX_WAIT_MS = 2_000;
const PAUSE_MS = 200;
const LENGTH = 200_001;
const LARGE_BYTES = 20 * 1024 * 1024;

interface Program {
  name: string;
  port: number;
  host: string;
  /** Answered with 200. */
  good: string;
  /** What is answered before the body has come: what it is, the path, further headers, the status. */
  early: [what: string, line: string, headers: string[], status: number][];
}

describe('an answer before the whole body has come', () => {
  let programs: Program[];
  before(async function () {
    this.timeout(150_000);
    programs = describePrograms(await shareStack());
  });

  const head = (program: Program, line: string, headers: string[]) =>
    `${[`${line} HTTP/1.1`, `Host: ${program.host}`, ...headers].join('\r\n')}\r\n\r\n`;

  for (const name of ['sidecar', 'front', 'console'])
    describe(`of the ${name}`, () => {
      const find = () => programs.find((program) => program.name === name)!;

      it('keeps the connection for the next request, whose answer comes at once', async () => {
        const program = find();
        for (const [what, line, headers, status] of program.early)
          for (const framing of ['length', 'chunked'] as const) {
            const connection = await KeptConnection.open(program.port);
            const body = 'x'.repeat(LENGTH);
            const field = framing === 'length' ? `Content-Length: ${LENGTH}` : 'Transfer-Encoding: chunked';
            const start = framing === 'length' ? body[0]! : `${LENGTH.toString(16)}\r\nx`;
            const rest = framing === 'length' ? body.slice(1) : `${body.slice(1)}\r\n0\r\n\r\n`;
            await connection.write(head(program, line, [field, ...headers]) + start);
            const answer = await connection.read();
            expect([what, framing, answer?.status]).to.deep.equal([what, framing, status]);
            expect(answer!.headers.connection, `${what} ${framing}`).to.equal('keep-alive');
            await connection.closes(PAUSE_MS);
            await connection.write(rest);
            for (let count = 1; count <= 2; count++) {
              const since = performance.now();
              await connection.write(program.good);
              const next = await connection.read({ withinMs: MAX_WAIT_MS });
              expect([what, framing, next?.status]).to.deep.equal([what, framing, 200]);
              expect(performance.now() - since).to.be.lessThan(MAX_WAIT_MS);
            }
            connection.end();
          }
      });

      it('reaches a client that writes 20 MiB before it reads', async () => {
        const program = find();
        for (const [what, line, headers, status] of program.early) {
          const connection = await KeptConnection.open(program.port);
          connection.pause();
          await connection.write(head(program, line, [`Content-Length: ${LARGE_BYTES}`, ...headers]));
          await connection.write(Buffer.alloc(LARGE_BYTES, 'x'));
          connection.resume();
          expect([what, (await connection.read())?.status]).to.deep.equal([what, status]);
          connection.end();
        }
      });

      it('closes the connection of a client that waits for 100 Continue, since it may leave out the body', async () => {
        const program = find();
        const [, line, headers, status] = program.early[0]!;
        const expectation = ['Content-Length: 10', 'Expect: 100-continue', ...headers];
        const connection = await KeptConnection.open(program.port);
        await connection.write(head(program, line, expectation));
        const answer = await connection.read();
        expect(answer?.status).to.equal(status);
        if (answer!.interim.length === 0) {
          expect(answer!.headers.connection).to.equal('close');
          expect(await connection.closes(MAX_WAIT_MS)).to.equal(true);
        }
        connection.end();
      });
    });
});

function describePrograms({ endpoints, find }: LocalStack): Program[] {
  const chat = find('LLM');
  const key = `Authorization: Bearer ${chat.apiKey}`;
  const { host: sidecarHost, port: sidecarPort } = new URL(chat.baseURL);
  const consoleURL = new URL(endpoints.console!.url);
  const serviceHost = `${chat.name}.${chat.namespace}.svc`;
  const json = 'Content-Type: application/json';
  const gateway = (name: string, port: string, host: string): Program => ({
    name,
    host,
    port: Number(port),
    good: `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n${key}\r\n\r\n`,
    early: [
      ['401', 'POST /v1/chat/completions', ['Authorization: Bearer sk-wrong', json], 401],
      ['415', 'POST /v1/chat/completions', [key, 'Content-Type: text/plain'], 415],
      ['404', 'POST /v1/nothing', [key], 404],
      ['405', 'PUT /v1/chat/completions', [key], 405],
      ['400', 'POST /v1/images/generations', [key, json], 400],
      [
        'a form for another kind of model',
        'POST /v1/videos',
        [key, 'Content-Type: multipart/form-data; boundary=x'],
        400,
      ],
      ['a GET with a body', 'GET /v1/models', [key], 200],
    ],
  });
  const origin = `Origin: ${consoleURL.origin}`;
  const forged = ['Origin: http://other.example.com'];
  return [
    gateway('sidecar', sidecarPort, sidecarHost),
    gateway('front', new URL(endpoints.unknownURL).port, serviceHost),
    {
      name: 'console',
      host: consoleURL.host,
      port: Number(consoleURL.port),
      good: `GET /healthz HTTP/1.1\r\nHost: ${consoleURL.host}\r\n\r\n`,
      early: [
        ['403', 'POST /api/session', [...forged, json], 403],
        ['415', 'POST /api/session', [origin, `${CSRF_HEADER}: 1`, 'Content-Type: text/plain'], 415],
        ['401', 'POST /api/namespaces/default/keys', [origin, `${CSRF_HEADER}: 1`, json], 401],
        ['405', 'POST /', [], 405],
        ['404', 'GET /api/nothing', [], 404],
      ],
    },
  ];
}
