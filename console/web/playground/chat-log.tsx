/** What was said in a conversation; it follows the answer that is being written. */
import { Paper, Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { Turn } from './conversation.ts';

interface ChatLogProps {
  turns: Turn[];
  isRunning: boolean;
  /** Below the last message; '' if there is none. */
  note: string;
}

export function ChatLog({ turns, isRunning, note }: ChatLogProps) {
  const log = useRef<HTMLDivElement>(null);
  /** False once the user has scrolled up, so that the text does not move. */
  const isFollowing = useRef(true);
  useEffect(() => {
    if (isRunning) isFollowing.current = true;
  }, [isRunning]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to new messages
  useEffect(() => {
    if (isFollowing.current) log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [turns]);

  return (
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
      aria-busy={isRunning}
    >
      {turns.length === 0 && <Text c="dimmed">Send a message to start. Messages aren't saved.</Text>}
      {turns.map((turn, index) => (
        // Messages are only ever added at the end.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Message key={index} turn={turn} />
      ))}
      {isRunning && turns.at(-1)?.role === 'user' && <Text c="dimmed">The model is thinking…</Text>}
      {note && <Text c="dimmed">{note}</Text>}
    </Stack>
  );
}

/** Distance in pixels that counts as the end: wheel scrolling rarely hits it exactly. */
const END_PX = 24;

const isAtEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean =>
  scrollHeight - scrollTop - clientHeight <= END_PX;

function Message({ turn: { role, content, figures } }: { turn: Turn }) {
  return (
    <Paper withBorder p="sm" radius="md">
      <Text size="xs" c="dimmed" fw={600}>
        {role === 'user' ? 'You' : 'Model'}
      </Text>
      <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{content}</Text>
      {figures && (
        <Text size="xs" c="dimmed" mt={4}>
          {figures}
        </Text>
      )}
    </Paper>
  );
}
