/** A streamed conversation with a chat model. */
import { Button, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { type ChatMessage, streamChat } from './chat-call.ts';
import type { PlaygroundProps } from './playground.tsx';

export function ChatPlayground({ deployment, path, permission }: PlaygroundProps) {
  const [messages, setMessages] = useState<ChatMessage[]>([]);
  const [prompt, setPrompt] = useState('');
  const [note, setNote] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  /** Sent once permissions are loaded. */
  const [isDue, setDue] = useState(false);
  const log = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);

  // Aborts when the user leaves the page.
  useEffect(() => () => running?.abort(), [running]);
  /** False once the user has scrolled up, so that the text does not move. */
  const isFollowing = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to new messages
  useEffect(() => {
    if (isFollowing.current) log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [messages]);

  const ask = async (asked: ChatMessage[]) => {
    const controller = new AbortController();
    setRunning(controller);
    setError(null);
    setNote('');
    let content = '';
    const show = (piece: string) => {
      content += piece;
      setMessages([...asked, { role: 'assistant', content }]);
    };
    isFollowing.current = true;
    setMessages(asked);
    try {
      const body = { model: deployment.modelId, messages: asked };
      const ending = await streamChat(`${path}/chat/completions`, body, show, controller.signal);
      if (ending === 'length') setNote('The response reached the maximum length.');
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure as Error);
      else {
        setNote('Stopped.');
        if (content === '') takeBack(asked);
      }
    }
    setRunning(null);
    input.current?.focus();
  };
  const takeBack = (asked: ChatMessage[]) => {
    setMessages(dropUnanswered(asked));
    setPrompt((typed) => typed || asked.at(-1)!.content);
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!prompt.trim() || running) return;
    setDue(permission.isAllowed === undefined);
    if (!permission.isAllowed) return;
    setPrompt('');
    void ask([...dropUnanswered(messages), { role: 'user', content: prompt.trim() }]);
  };
  useEffect(() => {
    if (isDue && permission.isAllowed !== undefined) submit();
  });
  const submitByEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const last = messages.at(-1);
  const canRetry = !running && error !== null && messages.length > 0;

  return (
    <Stack>
      <Stack
        ref={log}
        gap="xs"
        mah="55vh"
        style={{ overflowY: 'auto' }}
        onScroll={({ currentTarget }) => {
          isFollowing.current = isAtEnd(currentTarget);
        }}
        role="log"
        tabIndex={0}
        aria-label="Conversation"
        aria-busy={running !== null}
      >
        {messages.length === 0 && <Text c="dimmed">Send a message to start. Messages aren't saved.</Text>}
        {messages.map((message, index) => (
          // Messages are only ever added at the end.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <Message key={index} message={message} />
        ))}
        {running && last?.role === 'user' && <Text c="dimmed">The model is thinking…</Text>}
        {note && <Text c="dimmed">{note}</Text>}
        {isDue && <Text c="dimmed">Your message will be sent once your permissions are loaded.</Text>}
      </Stack>
      {error && (
        <ErrorAlert error={error} onRetry={canRetry ? () => void ask(dropAnswer(messages)) : undefined} />
      )}
      <form onSubmit={submit}>
        <Stack gap="xs">
          <Textarea
            ref={input}
            label="Message"
            description="Enter to send, Shift+Enter for a new line"
            value={prompt}
            onChange={(event) => {
              setPrompt(event.currentTarget.value);
              setDue(false);
            }}
            onKeyDown={submitByEnter}
            autosize
            minRows={2}
            maxRows={8}
          />
          <Group>
            {running ? (
              <Button color="red" variant="subtle" onClick={() => running.abort()}>
                Stop
              </Button>
            ) : (
              <AllowedButton type="submit" {...permission}>
                Send
              </AllowedButton>
            )}
            <Button
              variant="default"
              disabled={messages.length === 0 || running !== null}
              onClick={() => {
                setMessages([]);
                setError(null);
                setNote('');
                input.current?.focus();
              }}
            >
              New chat
            </Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}

/** Distance in pixels that counts as the end: wheel scrolling rarely hits it exactly. */
const END_PX = 24;

const isAtEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean =>
  scrollHeight - scrollTop - clientHeight <= END_PX;

/** Without the incomplete response, to retry the question. */
const dropAnswer = (messages: ChatMessage[]): ChatMessage[] =>
  messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages;

/** Models require alternating roles. */
function dropUnanswered(messages: ChatMessage[]): ChatMessage[] {
  return messages.at(-1)?.role === 'user' ? messages.slice(0, -1) : messages;
}

function Message({ message: { role, content } }: { message: ChatMessage }) {
  return (
    <Paper withBorder p="sm" radius="md">
      <Text size="xs" c="dimmed" fw={600}>
        {role === 'user' ? 'You' : 'Model'}
      </Text>
      <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{content}</Text>
    </Paper>
  );
}
