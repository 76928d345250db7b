/** Programs that receive and verify deliveries: those that the tests run. */
import go from '../../../examples/webhooks/receiver.go?raw';
import node from '../../../examples/webhooks/receiver.mjs?raw';
import python from '../../../examples/webhooks/receiver.py?raw';
import shell from '../../../examples/webhooks/verify.sh?raw';
import { CodeTabs } from '../parts/code-tabs.tsx';

const RECEIVERS = { 'Node.js': node, Python: python, Go: go, Shell: shell };

export const Receivers = () => <CodeTabs texts={RECEIVERS} what="receiver" />;
