/** A streamed conversation with a chat model, beside it what it is asked with and the code of the same call. */
import { Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useNamespace } from '../client/namespace.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { BesideCode } from './call-code.tsx';
import { ChatLog } from './chat-log.tsx';
import { buildChatBody, NO_SETTINGS, previewMessages } from './chat-settings.ts';
import { ChatSettingsFields } from './chat-settings-fields.tsx';
import { useConversation } from './conversation.ts';
import type { PlaygroundProps } from './playground-props.ts';

export function ChatPlayground({ deployment, permission }: PlaygroundProps) {
  const namespace = useNamespace();
  const { name, kind, modelId, baseURL, engine } = deployment;
  const [settings, setSettings] = useState(NO_SETTINGS);
  const [prompt, setPrompt] = useState('');
  /** Sent once permissions are loaded. */
  const [isDue, setDue] = useState(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const chat = useConversation({
    endpoint: { namespace, name },
    buildBody: (messages) => buildChatBody(modelId, settings, messages),
    onTakenBack: (question) => setPrompt((typed) => typed || question),
    onEnd: () => {
      // Keep the focus if the user has moved to the parameters.
      const { activeElement } = document;
      const isHere = activeElement === document.body || input.current?.form?.contains(activeElement);
      if (isHere) input.current?.focus();
    },
  });

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!prompt.trim() || chat.isRunning) return;
    setDue(permission.isAllowed === undefined);
    if (!permission.isAllowed) return;
    setPrompt('');
    void chat.ask(prompt.trim());
  };
  useEffect(() => {
    if (isDue && permission.isAllowed !== undefined) submit();
  });
  const submitByEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const canRetry = !chat.isRunning && chat.turns.length > 0;

  return (
    <BesideCode
      baseURL={baseURL}
      call={{ kind, body: buildChatBody(modelId, settings, previewMessages(chat.turns, prompt)) }}
      settings={
        <ChatSettingsFields
          settings={settings}
          onChange={setSettings}
          hasReasoning={engine.reasoningParser !== undefined}
        />
      }
    >
      <ChatLog
        turns={chat.turns}
        isRunning={chat.isRunning}
        note={isDue ? 'Your message will be sent once your permissions are loaded.' : chat.note}
      />
      {chat.error && (
        <ErrorAlert error={chat.error} onRetry={canRetry ? () => void chat.retry() : undefined} />
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
            {chat.isRunning ? (
              <Button color="red" variant="subtle" onClick={chat.stop}>
                Stop
              </Button>
            ) : (
              <AllowedButton type="submit" {...permission}>
                Send
              </AllowedButton>
            )}
            <Button
              variant="default"
              disabled={chat.turns.length === 0 || chat.isRunning}
              onClick={() => {
                chat.clear();
                input.current?.focus();
              }}
            >
              New chat
            </Button>
          </Group>
        </Stack>
      </form>
    </BesideCode>
  );
}
