/** One key: state, limits and usage. */
import { Group, Progress, Stack, Table, Text } from '@mantine/core';
import { type CreatorView, findReachedLimit, type KeyTotalView, type KeyView } from '../../api.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { countOf } from '../usage/totals.ts';
import { describeBounds } from './key-bounds.ts';
import { KeyMenu } from './key-menu.tsx';
import { findState } from './key-state.ts';

interface KeyRowProps {
  apiKey: KeyView;
  /** Total of the last 30 days; undefined while it is not known. */
  total: KeyTotal | undefined;
  mayManage: boolean | undefined;
  isPending: boolean;
  onEdit: () => void;
  onRoll: () => void;
  onToggle: () => void;
  onRevoke: () => void;
}

export type KeyTotal = Pick<KeyTotalView, 'requests' | 'inputTokens' | 'outputTokens' | 'cost'>;

const DAY_MS = 86_400_000;

const REASON = "You don't have permission to change API keys in this namespace.";

export function KeyRow(props: KeyRowProps) {
  const { apiKey, total, mayManage, isPending, onEdit, onRoll, onToggle, onRevoke } = props;
  const { name, hint, rpm, tpd, priority, expiresAt, disabled, message, createdAt, creator, usage } = apiKey;
  const state = findState(apiKey);
  const limit = findReachedLimit(apiKey);
  const bounds = describeBounds(apiKey);
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
        {name}
        {hint && (
          <Text size="xs" c="dimmed" ff="monospace" style={{ whiteSpace: 'nowrap' }}>
            {hint}
          </Text>
        )}
        {bounds !== '' && (
          <Text size="xs" c="dimmed">
            {bounds}
          </Text>
        )}
      </Table.Th>
      <Table.Td>
        <StateBadge state={state} />
        {(state === 'pending' || limit) && (
          <Text size="xs" c="dimmed">
            {state === 'pending' ? message : limit}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Used label={`Requests this minute: ${name}`} used={usage?.requestsThisMinute} limit={rpm} />
      </Table.Td>
      <Table.Td>
        <Used label={`Tokens today: ${name}`} used={usage?.tokensToday} limit={tpd} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Total total={total} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        {usage?.lastUsedAt === null ? (
          describeDisuse(createdAt)
        ) : (
          <Timestamp at={usage?.lastUsedAt ?? null} />
        )}
      </Table.Td>
      <Table.Td>{priority}</Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        {expiresAt === null ? 'Never' : <Timestamp at={expiresAt} />}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={createdAt} />
        {creator && (
          <Text size="xs" c="dimmed" maw={160} truncate title={creator.name}>
            {describeCreator(creator)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          <AllowedButton
            isAllowed={mayManage}
            reason={REASON}
            size="compact-sm"
            variant="default"
            onClick={onEdit}
            aria-label={`Edit ${name}`}
          >
            Edit
          </AllowedButton>
          {mayManage && (
            <KeyMenu
              name={name}
              isDisabled={disabled}
              isPending={isPending}
              onRoll={onRoll}
              onToggle={onToggle}
              onRevoke={onRevoke}
            />
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function Used({ label, used, limit }: { label: string; used: number | undefined; limit: number }) {
  return (
    <Stack gap={4} miw={110}>
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {used === undefined ? '–' : used.toLocaleString('en')} of {limit.toLocaleString('en')}
      </Text>
      {used !== undefined && (
        <Progress value={Math.min(100, (used / limit) * 100)} size="xs" aria-label={label} />
      )}
    </Stack>
  );
}

function Total({ total }: { total: KeyTotal | undefined }) {
  if (total === undefined) return <>–</>;
  const tokens = total.inputTokens + total.outputTokens;
  return (
    <>
      <Text size="sm">{countOf(total.requests, 'request')}</Text>
      <Text size="xs" c="dimmed">
        Cost {total.cost}
        {tokens > 0 && ` · ${countOf(tokens, 'token')}`}
      </Text>
    </>
  );
}

/** Uses are remembered for 90 days. */
const describeDisuse = (createdAt: string): string =>
  Date.now() - Date.parse(createdAt) < 90 * DAY_MS ? 'Never' : 'Not in the last 90 days';

const describeCreator = ({ kind, name }: CreatorView): string =>
  kind === 'user' ? `by ${name}` : `with ${name}`;
