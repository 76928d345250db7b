/** How a receiver took a test event. */
import { Alert, Text } from '@mantine/core';
import type { DeliveryView, TestView } from '../../api.ts';

export function TestResult({ result: { delivery, eventId } }: { result: TestView }) {
  if (!delivery)
    return (
      <Alert color="blue" role="status" title="The test is on its way">
        <Text size="sm">{eventId}: the log of deliveries will tell how it went.</Text>
      </Alert>
    );
  const isTaken = delivery.state === 'delivered';
  return (
    <Alert
      color={isTaken ? 'green' : 'red'}
      role="status"
      title={isTaken ? 'The receiver took it' : 'The receiver did not take it'}
    >
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {describeAnswer(delivery)}
        {delivery.state === 'pending' && '; it is tried again'}
      </Text>
    </Alert>
  );
}

/** The receiver's answer as text; null before the first attempt has ended. */
export function describeAnswer({ status, error }: Pick<DeliveryView, 'status' | 'error'>): string | null {
  if (status === null) return error;
  // The log says "answered 500" of it.
  return error === null || /^answered [0-9]+$/.test(error) ? `HTTP ${status}` : `HTTP ${status}, ${error}`;
}
