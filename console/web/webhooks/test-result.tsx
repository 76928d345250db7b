/** The result of a test event. */
import { Alert, Text } from '@mantine/core';
import type { TestView } from '../../api.ts';
import { describeAnswer, describeFailure } from './delivery-state.ts';

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
        {isTaken ? describeAnswer(delivery) : describeFailure(delivery)}
      </Text>
    </Alert>
  );
}
