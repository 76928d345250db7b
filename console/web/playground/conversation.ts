/** The state of a conversation: what was said, what is being answered, what went wrong. */
import { useEffect, useState } from 'react';
import type { ChatBody } from '../deployment/chat-snippets.ts';
import { type AnswerTimes, describeAnswer } from './answer-figures.ts';
import { type ChatEndpoint, streamChat } from './chat-call.ts';
import { type ChatMessage, dropAnswer, dropUnanswered } from './chat-settings.ts';

export interface Turn extends ChatMessage {
  /** What an answer took, once it is complete. */
  figures?: string;
}

interface ConversationOptions {
  endpoint: ChatEndpoint;
  buildBody: (messages: ChatMessage[]) => ChatBody;
  /** A question was stopped before an answer began. */
  onTakenBack: (question: string) => void;
  onEnd: () => void;
}

export function useConversation({ endpoint, buildBody, onTakenBack, onEnd }: ConversationOptions) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [note, setNote] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  // Aborts when the user leaves the page.
  useEffect(() => () => running?.abort(), [running]);

  const ask = async (asked: Turn[]) => {
    const controller = new AbortController();
    setRunning(controller);
    setError(null);
    setNote('');
    setTurns(asked);
    let content = '';
    const times: AnswerTimes = { sentAt: performance.now(), firstAt: null, lastAt: null };
    const show = (piece: string) => {
      times.lastAt = performance.now();
      times.firstAt ??= times.lastAt;
      if (piece === '') return;
      content += piece;
      setTurns([...asked, { role: 'assistant', content }]);
    };
    try {
      const { ending, usage } = await streamChat(endpoint, buildBody(asked), show, controller.signal);
      if (content !== '')
        setTurns([...asked, { role: 'assistant', content, figures: describeAnswer(times, usage) }]);
      if (ending === 'length') setNote('The response reached the maximum length.');
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure as Error);
      else {
        setNote('Stopped.');
        if (content === '') {
          setTurns(dropUnanswered(asked));
          onTakenBack(asked.at(-1)!.content);
        }
      }
    }
    setRunning(null);
    onEnd();
  };

  return {
    turns,
    note,
    error,
    isRunning: running !== null,
    ask: (question: string) => ask([...dropUnanswered(turns), { role: 'user', content: question }]),
    retry: () => ask(dropAnswer(turns)),
    stop: () => running?.abort(),
    clear: () => {
      setTurns([]);
      setError(null);
      setNote('');
    },
  };
}
