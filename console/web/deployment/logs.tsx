/** The live log of a replica's container. */
import { Button, Code, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ReplicaView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { useFilters } from '../parts/filters.ts';
import { Loaded } from '../parts/page.tsx';
import { EmptyState, ErrorAlert } from '../parts/page-states.tsx';
import { findCrashedRun } from './crash.ts';
import { findLines } from './log-buffer.ts';
import { useLog } from './log-query.ts';
import { useReplicas } from './replicas.tsx';

export function Logs({ deployment }: { deployment: string }) {
  const query = useReplicas(deployment);
  const { readLogs } = useAccess();
  if (readLogs === false)
    return (
      <EmptyState title="No permission">
        You don't have permission to read logs (get pods/log) in this namespace.
      </EmptyState>
    );
  return (
    <Loaded query={query}>
      {(replicas) =>
        replicas.length === 0 ? (
          <EmptyState title="No replicas">Logs are available only while a replica exists.</EmptyState>
        ) : (
          <ReplicaLog deployment={deployment} replicas={replicas} />
        )
      }
    </Loaded>
  );
}

function ReplicaLog({ deployment, replicas }: { deployment: string; replicas: ReplicaView[] }) {
  const namespace = useNamespace();
  const { search, change } = useFilters();
  /** null until it is chosen. */
  const [chosen, setPrevious] = useState<boolean | null>(null);
  const [turn, setTurn] = useState(0);
  const [wanted, setWanted] = useState('');
  const crashed = search.get('run') === 'crashed' ? findCrashedRun(replicas) : undefined;
  const replica =
    replicas.find(({ name }) => name === search.get('replica')) ?? crashed?.replica ?? replicas[0]!;
  const isPrevious = chosen ?? (crashed?.replica === replica && crashed.isPrevious);
  const container =
    replica.containers.find((name) => name === search.get('container')) ?? replica.containers[0]!;
  const { text, state, error } = useLog(
    { namespace, name: deployment, pod: replica.name, container, previous: isPrevious ? 'true' : '' },
    turn,
  );
  const found = useMemo(() => findLines(text, wanted), [text, wanted]);
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <Select
          label="Replica"
          data={replicas.map(({ name }) => name)}
          value={replica.name}
          onChange={(chosen) => change({ replica: chosen })}
          allowDeselect={false}
          w={{ base: '100%', xs: 300 }}
        />
        <Select
          label="Container"
          data={replica.containers}
          value={container}
          onChange={(chosen) => change({ container: chosen })}
          allowDeselect={false}
          w={{ base: '100%', xs: 180 }}
        />
        <Switch
          label="Previous run"
          checked={isPrevious}
          onChange={(event) => setPrevious(event.currentTarget.checked)}
          disabled={replica.restarts === 0 && !isPrevious}
          mb={6}
        />
        <TextInput
          type="search"
          label="Find in log"
          placeholder="Shows matching lines only"
          leftSection={<IconSearch size={16} aria-hidden />}
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
          maxLength={200}
          w={{ base: '100%', xs: 240 }}
        />
      </Group>
      {error && <ErrorAlert error={error} />}
      <LogText
        text={found.text}
        label={`Log of ${container}`}
        empty={found.isFiltered && text ? 'No matching lines.' : 'No log output yet.'}
      />
      <Group gap="sm">
        <Text size="sm" c="dimmed">
          {state === 'live' ? 'Live' : state === 'ended' ? 'End of log.' : 'Connecting…'}
        </Text>
        <Text size="sm" c="dimmed" role="status">
          {found.isFiltered &&
            `${found.count.toLocaleString('en')} of ${found.total.toLocaleString('en')} lines match`}
        </Text>
        {state === 'ended' && (
          <Button size="compact-sm" variant="default" onClick={() => setTurn(turn + 1)}>
            Continue
          </Button>
        )}
      </Group>
    </Stack>
  );
}

/** Stays at the end as lines come, unless the reader has scrolled up. */
function LogText({ text, label, empty }: { text: string; label: string; empty: string }) {
  const area = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text decides the height
  useLayoutEffect(() => {
    const { current } = area;
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [text]);
  return (
    <Code
      block
      component="pre"
      ref={area}
      role="region"
      aria-label={label}
      tabIndex={0}
      h="min(60vh, 40rem)"
      style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {text || empty}
    </Code>
  );
}
