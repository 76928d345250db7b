/** Kind, model, replicas and status message of a deployment, for its card and its page. */
import { Anchor, Badge, Group, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { useAccess } from '../client/session.ts';
import { findCrashedContainer, findLogSearch } from './crash.ts';

/** Kind and model, after `children`. */
export function KindAndModel({
  deployment: { kind, modelId },
  children,
}: {
  deployment: Pick<DeploymentView, 'kind' | 'modelId'>;
  children?: ReactNode;
}) {
  return (
    <Group gap="xs">
      {children}
      <Badge variant="default" tt="none">
        {kind}
      </Badge>
      <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        {modelId}
      </Text>
    </Group>
  );
}

/** Replicas and queue, followed by `children`. */
export function ReplicasAndQueue({
  deployment: { replicas, queue },
  children,
}: {
  deployment: Pick<DeploymentView, 'replicas' | 'queue'>;
  children?: ReactNode;
}) {
  return (
    <Text size="sm" c="dimmed" component="div">
      {replicas.ready} of {replicas.wanted} {replicas.wanted === 1 ? 'replica' : 'replicas'} ready
      {queue && ` · ${queue.waiting} waiting, ${queue.running} running`}
      {queue && queue.abandoned > 0 && ` · GPU still busy with ${queue.abandoned} that timed out`}
      {children}
    </Text>
  );
}

/** The engine with what it was started with, and prices. */
export function EngineAndPrices({
  deployment: { adapterOf, engine, continuesStreams, prices },
}: {
  deployment: Pick<DeploymentView, 'adapterOf' | 'engine' | 'continuesStreams' | 'prices'>;
}) {
  const { preset, family, toolCallParser, reasoningParser, chatTemplate, message } = engine;
  const facts = [
    adapterOf === null ? `Engine ${preset}` : `LoRA adapter of ${adapterOf}`,
    family && `model family ${family}`,
    toolCallParser && `tool call parser ${toolCallParser}`,
    reasoningParser && `reasoning parser ${reasoningParser}`,
    chatTemplate && `chat template ${chatTemplate}`,
    message,
    continuesStreams && 'chat streams continue if the engine crashes',
    ...prices.map(({ of, amount }) => `${amount} per ${of}`),
  ];
  return (
    <Text size="sm" c="dimmed">
      {facts.filter(Boolean).join(' · ')}
    </Text>
  );
}

/** Why a deployment does not serve; a crash has a link to the log. */
export function StatusMessage({ message }: { message: string }) {
  const { readLogs = false } = useAccess();
  const container = readLogs ? findCrashedContainer(message) : undefined;
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <IconAlertCircle size={18} aria-hidden style={{ flex: 'none', marginTop: 2 }} />
      <div>
        <MessageText>{message}</MessageText>
        {container && (
          <Anchor component={Link} to={{ search: findLogSearch(container) }} size="sm" underline="always">
            Open logs
          </Anchor>
        )}
      </div>
    </Group>
  );
}

/** Keeps the line breaks of a log. */
export const MessageText = ({ children }: { children: string }) => (
  <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
    {children}
  </Text>
);
