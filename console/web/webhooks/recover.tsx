/** Resends all failed deliveries since a time, of one endpoint or all: after a receiver was away. */
import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, useState } from 'react';
import type { ResendView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';

const HOUR_MS = 3_600_000;
/** Instead of a number of hours. */
const OWN_TIME = 'at';
/** Events are kept for 3 days. */
const CHOICES = [
  { value: '1', label: 'The last hour' },
  { value: '6', label: 'The last 6 hours' },
  { value: '24', label: 'The last 24 hours' },
  { value: '72', label: 'The last 3 days' },
  { value: OWN_TIME, label: 'Since…' },
];

interface RecoverProps {
  /** The API's name for inline callbacks is `-`; all if absent. */
  endpoint?: string;
  size?: string;
}

export function Recover({ endpoint, size = 'compact-sm' }: RecoverProps) {
  const { resendDeliveries } = useAccess();
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <AllowedButton
        isAllowed={resendDeliveries}
        reason="You don't have permission to resend deliveries in this namespace."
        size={size}
        variant="default"
        onClick={open}
        aria-label={`Resend failed deliveries${endpoint ? ` to ${endpoint}` : ''}`}
      >
        Resend failed
      </AllowedButton>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Resend failed deliveries"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <RecoverForm endpoint={endpoint} onClose={close} />
      </Modal>
    </>
  );
}

function RecoverForm({ endpoint, onClose }: { endpoint: string | undefined; onClose: () => void }) {
  const [choice, setChoice] = useState('24');
  const [time, setTime] = useState('');
  const resend = useWrite(
    routes.resendDeliveries,
    {},
    {
      refreshes: [routes.listDeliveries, routes.readDelivery],
      onSuccess: (result) => announce(describeResend(result)),
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const from = choice === OWN_TIME ? Date.parse(time) : Date.now() - Number(choice) * HOUR_MS;
    resend.mutate({ since: new Date(from).toISOString(), endpoint });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">
          Each failed delivery {endpoint ? `to ${endpoint} ` : ''}is sent again in the original order. Test
          events are skipped.
        </Text>
        <Select
          label="Failed in"
          data={CHOICES}
          value={choice}
          onChange={(chosen) => chosen && setChoice(chosen)}
          allowDeselect={false}
          data-autofocus
        />
        {choice === OWN_TIME && (
          <TextInput
            label="Since"
            description="Your local time; events are kept for 3 days."
            type="datetime-local"
            value={time}
            onChange={(event) => setTime(event.currentTarget.value)}
            required
          />
        )}
        {resend.error && <ErrorAlert error={resend.error} />}
        {resend.data && (
          <Text size="sm" role="status">
            {describeResend(resend.data)}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {resend.data ? 'Done' : 'Cancel'}
          </Button>
          {!resend.data && (
            <Button type="submit" loading={resend.isPending}>
              Resend
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

function describeResend({ resent, expired, unreachable }: ResendView): string {
  const gone = expired > 0 ? ` ${expired} could not be resent: their events have expired.` : '';
  const closed =
    unreachable > 0
      ? ` ${unreachable} could not be resent: their endpoints are missing, disabled or rejected.`
      : '';
  return resent === 0 ? `Nothing to resend.${gone}${closed}` : `${resent} resent.${gone}${closed}`;
}
