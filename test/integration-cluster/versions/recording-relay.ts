/** A relay in front of an API server that records each answer, and what became of each write. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { ControlPlane } from '../../support/control-plane.ts';
import { findLostFields } from './lost-fields.ts';

interface RecordedAnswer {
  /** Method, path and, of a refusal, the API server's words. */
  text: string;
  status: number;
  /** Deprecated APIs and unknown fields, as the API server names them. */
  warnings: string[];
  /** Fields that were sent and not stored. */
  lost: string[];
}

export interface RecordingRelay {
  url: string;
  answers: RecordedAnswer[];
  /** Everything but 404 and 409, which are answers like others. */
  refused(): string[];
  warnings(): string[];
  lost(): string[];
  close(): void;
}

/** A client without a token is the admin. Watches are passed on as they come. */
export async function startRecordingRelay({ url, token, authority }: ControlPlane): Promise<RecordingRelay> {
  const answers: RecordedAnswer[] = [];
  const agent = new Agent({ ca: authority, keepAlive: true });

  async function relay(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { authorization = `Bearer ${token}`, 'accept-encoding': _, host: __, ...headers } = req.headers;
    const sent = await buffer(req);
    const options = { agent, method: req.method!, headers: { ...headers, authorization } };
    const call = request(`${url}${req.url}`, options, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      // Headers of a watch are awaited long before its first event.
      res.flushHeaders();
      const isRead = req.method === 'GET' && answer.statusCode! < 400;
      if (isRead && !answer.headers.warning) answer.pipe(res);
      else
        void record(req, sent, answer).then(
          (body) => res.end(body),
          () => res.destroy(),
        );
    });
    res.once('close', () => call.destroy());
    call.once('error', () => res.destroy()).end(sent);
  }

  async function record(req: IncomingMessage, sent: Buffer, answer: IncomingMessage): Promise<Buffer> {
    const body = await buffer(answer);
    const stored = read(body, answer.headers['content-type']);
    const isRefused = answer.statusCode! >= 400;
    const call = `${req.method} ${req.url!.split('?')[0]}`;
    answers.push({
      text: isRefused ? `${call}: ${stored?.message}` : call,
      status: answer.statusCode!,
      warnings: answer.headersDistinct.warning ?? [],
      lost:
        isRefused || !stored || req.method === 'DELETE'
          ? []
          : findLostFields(read(sent, req.headers['content-type']), stored),
    });
    return body;
  }

  const server = createServer((req, res) => void relay(req, res).catch(() => res.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const list = (pick: (answer: RecordedAnswer) => string[]) => answers.flatMap(pick);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    refused: () => list(({ status, text }) => (status < 400 || [404, 409].includes(status) ? [] : [text])),
    warnings: () => list(({ text, warnings }) => warnings.map((warning) => `${text}: ${warning}`)),
    lost: () => list(({ text, lost }) => lost.map((path) => `${text}: ${path}`)),
    close: () => {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}

/** Undefined of what is not text: Helm writes its own Secrets as protobuf. */
// biome-ignore lint/suspicious/noExplicitAny: an object of any kind
function read(body: Buffer, type = ''): any {
  if (!/json|yaml/.test(type)) return undefined;
  const text = body.toString();
  // A parser of YAML takes long over JSON.
  return text.startsWith('{') ? JSON.parse(text) : parse(text);
}
