import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { type CheckRun, runCheck } from '../support/gpu-check-run.ts';

interface Body {
  stream?: boolean;
  max_tokens: number;
  messages: { content: string }[];
}
type Chat = (body: Body, response: ServerResponse) => void | Promise<void>;
type Message = Record<string, string | null>;

const sendJSON = (response: ServerResponse, body: object, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const say = (response: ServerResponse, message: Message): void =>
  sendJSON(response, {
    choices: [{ index: 0, finish_reason: 'stop', message }],
    usage: { prompt_tokens: 10, completion_tokens: 4 },
  });

function stream(response: ServerResponse, deltas: Message[], finish: string | null, tokens = 0): void {
  const frames = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    ...(finish ? [{ choices: [{ index: 0, delta: {}, finish_reason: finish }] }] : []),
    { choices: [], usage: { completion_tokens: tokens } },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`);
}

const sayOrStream =
  (message: Message, deltas: Message[]): Chat =>
  ({ stream: isStream }, response) =>
    isStream ? stream(response, deltas, 'stop') : say(response, message);

/** What a word costs: 39 characters are 9 tokens, as of a tokenizer. */
const countTokens = ({ messages }: Body): number => Math.ceil((messages[0]!.content.length * 9) / 39);

const answerSample = (body: Body, response: ServerResponse): void =>
  sendJSON(response, {
    choices: [{ index: 0, finish_reason: 'length', message: { content: 'At' } }],
    usage: { prompt_tokens: countTokens(body), completion_tokens: 1 },
  });

/** A faulty engine without a gateway in front of it: the tool detects it. */
describe('the check of a GPU, of answers that are', function () {
  this.timeout(60_000);
  let server: Server;
  let chat: Chat;
  before(async () => {
    server = createServer(async (request, response) => {
      if (request.method === 'GET') {
        const model = { id: 'stub', routes: ['/v1/chat/completions'], max_model_len: 8_192 };
        return sendJSON(response, { data: [model] });
      }
      let text = '';
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text) as Body;
      if (body.max_tokens === 1) answerSample(body, response);
      else await chat(body, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const check = async (title: string, answer: Chat, env: Record<string, string> = {}): Promise<string> => {
    chat = answer;
    const { port } = server.address() as AddressInfo;
    const { lines }: CheckRun = await runCheck({
      URL: `http://127.0.0.1:${port}/v1`,
      KEY: 'any',
      PRIORITY_KEY: 'other',
      ONLY: title,
      ...env,
    });
    return lines.get(title) ?? '';
  };

  const shortRefused = Promise.withResolvers<void>();
  const REASONING = 'reasoning is in a field of its own';
  const answers: [string, string, Chat, RegExp][] = [
    [
      'reasoning in its own field, whole and streamed',
      REASONING,
      sayOrStream({ reasoning: '17 × 20 + 17 × 3', content: '391' }, [
        { reasoning: '17' },
        { content: '391' },
      ]),
      /^passed .*: 16 characters of reasoning, then "391" \(stop\); its stream has both$/,
    ],
    [
      'reasoning that goes on in the answer',
      REASONING,
      sayOrStream({ reasoning: '17', content: '</think>391' }, [{ reasoning: '17' }, { content: '391' }]),
      /^failed /,
    ],
    [
      'reasoning that streams do not tell apart',
      REASONING,
      sayOrStream({ reasoning_content: '17', content: '391' }, [{ content: '17' }, { content: '391' }]),
      /^failed .*not both/,
    ],
    [
      'reasoning that no parser takes out',
      REASONING,
      sayOrStream({ content: '<think>17</think>391' }, []),
      /^skipped .*has <think> in its answer/,
    ],
    [
      'prose where JSON was asked for',
      'a JSON schema is held',
      sayOrStream({ content: 'Paris is old.' }, []),
      /^failed .*: 0 of 4 answers hold it: no JSON, but "Paris is old."/,
    ],
    [
      'JSON of another schema',
      'a JSON schema is held',
      sayOrStream({ content: '{"name":"Paris"}' }, []),
      /^failed .*: 0 of 4 answers hold it: .*/,
    ],
    [
      'fewer than were asked for',
      'several choices are made',
      sayOrStream({ content: 'a cat' }, []),
      /^failed .*: 1 of 4/,
    ],
    [
      'without log probabilities',
      'log probabilities are there',
      sayOrStream({ content: 'Hello.' }, []),
      /^failed .*: 0 of 0 tokens/,
    ],
    [
      'streams that end early',
      'many long answers at once are whole',
      ({ max_tokens }, response) => stream(response, [{ content: 'Dawn' }], 'length', max_tokens - 1),
      /^failed .*: 0 of 64 have all of their 1024 tokens, .*; one ends with /,
    ],
    [
      'streams without an end',
      'many long answers at once are whole',
      ({ max_tokens }, response) => stream(response, [{ content: 'Dawn' }], null, max_tokens),
      /^failed .*: 0 of 64 have all/,
    ],
    [
      'errors of short requests beside long ones',
      'long prompts at once are answered, and the engine stays ready',
      async ({ stream: isStream }, response) => {
        if (isStream)
          return void shortRefused.promise.then(() => stream(response, [{ content: 'Dawn' }], 'stop'));
        sendJSON(response, { error: { message: 'out of breath' } }, 503);
        shortRefused.resolve();
      },
      /^failed .*: 8 of 8 prompts of about 6553 tokens answered, .* × 503, .*; a short one got 503 .*out of breath/,
    ],
    [
      'given at once, so that nobody waits',
      'a key of higher priority is served first',
      (_, response) => stream(response, [{ content: 'Hello' }], 'stop'),
      /^skipped .*: only 0 waited/,
    ],
  ];
  for (const [title, line, answer, expected] of answers)
    it(title, async () => expect(await check(line, answer)).to.match(expected));

  describe('whole, by an engine whose pods', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-pods-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const isWhole: Chat = ({ max_tokens }, response) =>
      stream(response, [{ content: 'Dawn' }], 'length', max_tokens);
    const METRICS = '/api/v1/namespaces/team/pods/one:9090/proxy/engine/metrics';

    /** With each read of them, the next of `looks` (restarts, readiness), and then the last forever. */
    const watch = (looks: [number, boolean][]): Promise<string> => {
      const file = join(folder, 'looks');
      writeFileSync(file, '0');
      writeFileSync(
        join(folder, 'kubectl'),
        `#!${process.execPath}
const fs = require('node:fs');
const look = Number(fs.readFileSync(${JSON.stringify(file)}));
if (process.argv.includes('--raw')) {
  const isThere = process.argv.at(-1) === ${JSON.stringify(METRICS)};
  console.log(isThere ? 'vllm:num_preemptions_total{engine="0"} ' + look : '');
} else {
  fs.writeFileSync(${JSON.stringify(file)}, String(look + 1));
  const looks = ${JSON.stringify(looks)};
  const [restartCount, isReady] = looks[Math.min(look, looks.length - 1)];
  const status = { containerStatuses: [{ restartCount }], conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] };
  console.log(JSON.stringify({ items: [{ metadata: { name: 'one', namespace: 'team' }, status }] }));
}
`,
      );
      chmodSync(join(folder, 'kubectl'), 0o755);
      return check('many long answers at once are whole', isWhole, {
        DEPLOYMENT: 'any',
        PATH: `${folder}${delimiter}${process.env.PATH}`,
      });
    };

    it('stay ready: it tells how often vLLM gave up memory', async () => {
      const line = await watch([[1, true]]);
      expect(line).to.match(
        /^passed .*, [1-9] times one gave way to others; .*; 1 of 1 pods ready all the time, 0 restarts$/,
      );
      expect(Number(readFileSync(join(folder, 'looks'), 'utf8'))).to.be.at.least(4);
    });

    it('were started again in between', async () => {
      const ready = [
        [1, true],
        [1, true],
        [2, true],
      ] as [number, boolean][];
      expect(await watch(ready)).to.match(
        /^failed .*: 64 of 64 have all .*; 1 of 1 pods ready all the time, 1 restarts$/,
      );
    });

    it('were not ready in between', async () => {
      const ready = [
        [1, true],
        [1, true],
        [1, false],
        [1, true],
      ] as [number, boolean][];
      expect(await watch(ready)).to.match(
        /^failed .*: 64 of 64 .*0 of 1 pods ready all the time, 0 restarts$/,
      );
    });
  });
});
