import { requireGo } from '../../../cluster/binaries.ts';
import { describeReceiver } from '../../conformance/webhook-receiver.ts';

describeReceiver('receiver.go', () => [requireGo(), 'run', 'examples/webhooks/receiver.go']);
