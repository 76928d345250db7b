/** What a model that chats shows in the other dialects: OpenAI's responses, and Anthropic's messages. */
import { TOOL, TOOL_PROMPT } from './chat.ts';
import { type Checks, judge, type Model, type Outcome, post, requireOk, skipped } from './endpoint.ts';

const PROMPT = 'Write two sentences about a harbor.';
/** A model that thinks first needs them. */
const MAX_TOKENS = 512;

interface Tokens {
  input_tokens: number;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens: number;
}

interface Answer {
  usage: Tokens;
  /** Items of a response, blocks of a message. */
  parts: { type: string }[];
}

interface Dialect {
  route: string;
  ask: (fields: object) => Promise<Response>;
  tool: object;
  call: string;
  parse: (body: never) => Answer;
  /** Matches an event with a piece of the answer. */
  piece: RegExp;
  end: RegExp;
}

const RESPONSES: Dialect = {
  route: '/v1/responses',
  ask: ({ prompt = PROMPT, ...fields }: { prompt?: string }) =>
    post('/responses', { input: prompt, max_output_tokens: MAX_TOKENS, ...fields }),
  tool: { type: 'function', name: TOOL.name, description: TOOL.description, parameters: TOOL.schema },
  call: 'function_call',
  parse: ({ usage, output }: { usage: Tokens; output: Answer['parts'] }) => ({ usage, parts: output }),
  piece: /^event: response\.\w+\.delta$/gm,
  end: /^event: response\.(completed|incomplete)$/m,
};

const MESSAGES: Dialect = {
  route: '/v1/messages',
  ask: ({ prompt = PROMPT, ...fields }: { prompt?: string }) =>
    post('/messages', { messages: [{ role: 'user', content: prompt }], max_tokens: MAX_TOKENS, ...fields }),
  tool: { name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema },
  call: 'tool_use',
  parse: ({ usage, content }: { usage: Tokens; content: Answer['parts'] }) => ({ usage, parts: content }),
  piece: /^event: content_block_delta$/gm,
  end: /^event: message_stop$/m,
};

const listTypes = (parts: Answer['parts']): string => parts.map(({ type }) => type).join(', ') || 'nothing';

const askWhole = async ({ ask, parse }: Dialect, fields: object): Promise<Answer> =>
  parse((await (await requireOk(await ask(fields))).json()) as never);

async function checkAnswers(dialect: Dialect): Promise<Outcome> {
  const { parts, usage } = await askWhole(dialect, {});
  const text = await (await requireOk(await dialect.ask({ stream: true }))).text();
  const pieces = text.match(dialect.piece)?.length ?? 0;
  const end = dialect.end.test(text) ? 'whole' : `it ends with ${text.slice(-120).trim()}`;
  return judge(
    parts.length > 0 && usage.output_tokens > 0 && pieces > 1 && end === 'whole',
    `${listTypes(parts)} of ${usage.output_tokens} tokens; the stream has ${pieces} pieces, ${end}`,
  );
}

async function checkCalls(dialect: Dialect): Promise<Outcome> {
  const { parts } = await askWhole(dialect, {
    prompt: TOOL_PROMPT,
    tools: [dialect.tool],
  });
  return judge(
    parts.some(({ type }) => type === dialect.call),
    `the answer has ${listTypes(parts)}`,
  );
}

/** What is counted ahead is what the message then costs. */
async function checkCount(): Promise<Outcome> {
  const messages = [{ role: 'user', content: PROMPT }];
  const response = await requireOk(await post('/messages/count_tokens', { messages }));
  const { input_tokens: counted } = (await response.json()) as { input_tokens: number };
  const { usage } = await askWhole(MESSAGES, { max_tokens: 1 });
  const read =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return judge(counted === read, `${counted} counted, ${read} read`);
}

const where =
  (route: string, check: () => Promise<Outcome>) =>
  async ({ routes }: Model): Promise<Outcome> =>
    routes.includes(route) ? check() : skipped(`it has no ${route}`);

export const DIALECT_CHECKS: Checks = {
  'responses are answered, whole and streamed': where(RESPONSES.route, () => checkAnswers(RESPONSES)),
  'responses call tools': where(RESPONSES.route, () => checkCalls(RESPONSES)),
  'messages are answered, whole and streamed': where(MESSAGES.route, () => checkAnswers(MESSAGES)),
  'messages call tools': where(MESSAGES.route, () => checkCalls(MESSAGES)),
  'tokens of a message are counted as they are read': where('/v1/messages/count_tokens', checkCount),
};
