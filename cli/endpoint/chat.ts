/** `berth chat`: one answer, or a conversation. */
import { fstatSync } from 'node:fs';
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
  { positionals: [name, message], values, flags }: Invocation,
  output: Output,
): Promise<void> {
  const { env, stdin } = process;
  const endpoint = await openEndpoint(
    target,
    {
      name: name!,
      route: '/chat/completions',
      keyName: values.key,
      url: values.url,
      isPlainAllowed: flags.has('plain-http'),
    },
    env,
  );
  const { system } = values;
  const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  if (message === undefined && stdin.isTTY) return converse(endpoint, messages, { input: stdin, output });
  const piped = message === undefined || isGiven(stdin.fd) ? await readAll(stdin) : '';
  const content = joinMessage(message, piped);
  if (content === '')
    throw new Failure('usage', 'the message is empty: give one as an argument, or on stdin');
  await answer(endpoint, [...messages, { role: 'user', content }], output);
}

/** A file or a pipe of the shell. Where something else started `berth`, its stdin may never end. */
function isGiven(descriptor: number): boolean {
  const stat = fstatSync(descriptor);
  return stat.isFile() || stat.isFIFO();
}

/** `git diff | berth chat NAME 'Review this'` */
export const joinMessage = (message: string | undefined, piped: string): string =>
  [message ?? '', piped.trim()].filter((text) => text !== '').join('\n\n');

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
  let isLineOpen = false;
  const print = (write: (text: string) => void) => (text: string) => {
    isLineOpen = true;
    write(printable(text));
  };
  try {
    const { content, reasoning, finishReason, usage } = await readAnswer(response.body!, {
      onContent: print((text) => output.write(text)),
      onReasoning: print((text) => output.writeAside(text)),
    });
    const requestId = response.headers.get('x-request-id');
    output.show(
      { model, content, reasoning, finish_reason: finishReason, usage, request_id: requestId },
      () => '',
    );
    return content;
  } catch (error) {
    if (isLineOpen) output.write('\n');
    throw error;
  }
}

/** Until Ctrl-D, or Ctrl-C at the prompt; Ctrl-C in an answer ends the answer. One that fails does not end it. */
export async function converse(
  endpoint: Endpoint,
  messages: Message[],
  { input, output }: { input: NodeJS.ReadableStream; output: Output },
): Promise<void> {
  output.note(`Chat with ${endpoint.model.id}. Ctrl-C ends an answer, Ctrl-D the chat.`);
  const lines = createInterface({ input, output: process.stderr, prompt: '> ' });
  let running: AbortController | undefined;
  let isClosed = false;
  lines.once('close', () => {
    isClosed = true;
  });
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
        const { message } = error as Error;
        if (running.signal.aborted) output.note('');
        else output.report({ error: { message } }, `berth: ${message}`);
      }
      running = undefined;
    }
    // Lines that came before Ctrl-D are still answered.
    if (!isClosed) lines.prompt();
  }
}
