/** One endpoint: URL, state, actions. */
import { Alert, Badge, Button, Group, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { TestView, WebhookView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useNamespace, useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { ObjectCard } from '../parts/object-card.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { describeAnswer, describeFailure } from './delivery-state.ts';
import { Recover } from './recover.tsx';
import { RollSecret } from './signing-secret.tsx';

interface WebhookCardProps {
  webhook: WebhookView;
  onChange: () => void;
  onDelete: () => void;
}

const REASON = "You don't have permission to change webhooks in this namespace.";

export function WebhookCard({ webhook, onChange, onDelete }: WebhookCardProps) {
  const { name, url, eventTypes, enabled, signingSecret, state, message, consecutiveFailures } = webhook;
  const namespace = useNamespace();
  const { manageWebhooks, sendTests } = useAccess();
  const change = useWrite(routes.changeWebhook, { name }, { refreshes: [routes.listWebhooks] });
  const test = useWrite(routes.testWebhook, { name }, { refreshes: [routes.listDeliveries] });
  const manage = {
    isAllowed: manageWebhooks,
    reason: REASON,
    size: 'compact-sm',
    variant: 'default',
  } as const;
  return (
    <ObjectCard name={name} state={state}>
      <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {url}
      </Text>
      <Group gap="xs">
        {eventTypes.map((type) => (
          <Badge key={type} variant="default" tt="none">
            {type}
          </Badge>
        ))}
      </Group>
      {state !== 'active' && message && <Text size="sm">{message}</Text>}
      {state !== 'auto-disabled' && consecutiveFailures > 0 && (
        <Text size="sm" c="dimmed">
          {consecutiveFailures} consecutive {consecutiveFailures === 1 ? 'delivery' : 'deliveries'} failed;
          the endpoint is disabled at 20.
        </Text>
      )}
      {change.error && <ErrorAlert error={change.error} />}
      {test.error && <ErrorAlert error={test.error} />}
      {test.data && <TestResult result={test.data} />}
      <Group gap="xs">
        <AllowedButton
          isAllowed={sendTests}
          reason="You don't have permission to send test events in this namespace."
          size="compact-sm"
          variant="light"
          loading={test.isPending}
          onClick={() => test.mutate()}
          aria-label={`Send test event to ${name}`}
        >
          Send test event
        </AllowedButton>
        {state === 'auto-disabled' && (
          <AllowedButton
            {...manage}
            variant="light"
            loading={change.isPending}
            onClick={() => change.mutate({ reEnable: true })}
            aria-label={`Re-enable ${name}`}
          >
            Re-enable
          </AllowedButton>
        )}
        {state === 'active' && <Recover endpoint={name} />}
        <AllowedButton {...manage} onClick={onChange} aria-label={`Edit ${name}`}>
          Edit
        </AllowedButton>
        {signingSecret === 'Own' && <RollSecret endpoint={name} size="compact-sm" />}
        <AllowedButton
          {...manage}
          loading={change.isPending}
          onClick={() => change.mutate({ enabled: !enabled })}
          aria-label={`${enabled ? 'Disable' : 'Enable'} ${name}`}
        >
          {enabled ? 'Disable' : 'Enable'}
        </AllowedButton>
        <AllowedButton
          {...manage}
          variant="subtle"
          color="red"
          onClick={onDelete}
          aria-label={`Delete ${name}`}
        >
          Delete
        </AllowedButton>
        <Button
          component={Link}
          to={`/${namespace}/deliveries?endpoint=${encodeURIComponent(name)}`}
          size="compact-sm"
          variant="subtle"
          aria-label={`Deliveries to ${name}`}
        >
          Deliveries
        </Button>
      </Group>
    </ObjectCard>
  );
}

/** The result of a test event. */
function TestResult({ result: { delivery, eventId } }: { result: TestView }) {
  if (!delivery)
    return (
      <Alert color="blue" role="status" title="Test sent, no response yet">
        <Text size="sm">{eventId}: see Deliveries for the result.</Text>
      </Alert>
    );
  const isTaken = delivery.state === 'delivered';
  return (
    <Alert color={isTaken ? 'green' : 'red'} role="status" title={isTaken ? 'Test delivered' : 'Test failed'}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {isTaken ? describeAnswer(delivery) : describeFailure(delivery)}
      </Text>
    </Alert>
  );
}
