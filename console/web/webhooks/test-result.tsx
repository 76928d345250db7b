/** The result of a test event. */
import { Alert, Text } from '@mantine/core';
import type { DeliveryView, TestView } from '../../api.ts';

export function TestResult({ result: { delivery, eventId } }: { result: TestView }) {
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
        {describeAnswer(delivery)}
        {delivery.state === 'pending' && '; retrying'}
      </Text>
    </Alert>
  );
}

/** The receiver's answer as text; null before the first attempt has ended. */
export function describeAnswer({ status, error }: Pick<DeliveryView, 'status' | 'error'>): string | null {
  if (status === null) return error;
  // The log's "answered 500" would repeat the status.
  return error === null || /^answered [0-9]+$/.test(error) ? `HTTP ${status}` : `HTTP ${status}, ${error}`;
}
