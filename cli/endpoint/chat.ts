/** `berth chat`: one answer, or a conversation. */
import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import { type Output, printable } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { readAnswer } from './answer-stream.ts';
import { callEndpoint, type Endpoint, openEndpoint } from './endpoint.ts';

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export async function chat(
  target: Target,
  { positionals: [name, message], values }: Invocation,
  output: Output,
): Promise<void> {
  const { env, stdin } = process;
  const endpoint = await openEndpoint(
    target,
    { name: name!, keyName: values.key, route: '/chat/completions' },
    env,
  );
  const { system } = values;
  const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  const only = message ?? (stdin.isTTY ? undefined : (await readAll(stdin)).trim());
  if (only === undefined) return converse(endpoint, messages, output);
  if (only === '') throw new Failure('usage', 'the message is empty: give one as an argument, or on stdin');
  await answer(endpoint, [...messages, { role: 'user', content: only }], output);
}

/** Prints the answer and returns its text. Throws Failure with the endpoint's error. */
export async function answer(
  endpoint: Endpoint,
  messages: Message[],
  output: Output,
  signal?: AbortSignal,
): Promise<string> {
  const { id: model } = endpoint.model;
  const body = { model, messages, stream: true, stream_options: { include_usage: true } };
  const response = await callEndpoint(endpoint, 'chat/completions', { body, signal });
  const { content, reasoning, finishReason, usage } = await readAnswer(response.body!, {
    onContent: (text) => output.write(printable(text)),
    onReasoning: (text) => output.writeAside(printable(text)),
  });
  const requestId = response.headers.get('x-request-id');
  output.show(
    { model, content, reasoning, finish_reason: finishReason, usage, request_id: requestId },
    () => '',
  );
  return content;
}

/** Until Ctrl-D, or Ctrl-C at the prompt; Ctrl-C in an answer ends the answer. */
async function converse(endpoint: Endpoint, messages: Message[], output: Output): Promise<void> {
  output.note(`Chat with ${endpoint.model.id}. Ctrl-C ends an answer, Ctrl-D the chat.`);
  const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  let running: AbortController | undefined;
  lines.on('SIGINT', () => (running ? running.abort() : lines.close()));
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== '') {
      running = new AbortController();
      const asked: Message[] = [...messages, { role: 'user', content: line }];
      try {
        const content = await answer(endpoint, asked, output, running.signal);
        messages.splice(0, messages.length, ...asked, { role: 'assistant', content });
      } catch (error) {
        if (running.signal.aborted) output.note('');
        else output.fail(error as Error);
      }
      running = undefined;
    }
    lines.prompt();
  }
}
