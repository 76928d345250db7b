/** Descriptions of roles and permissions. Pure. */
import type { AccessView } from '../../api.ts';

/** The chart's roles have its release's name before them. */
const ROLES: [name: RegExp, words: string][] = [
  [/^(edit|admin|cluster-admin)$|berth-(member|edit)$/, 'Full access: deploy, operate and use models'],
  [/^view$|berth-view$/, 'Read-only access'],
  [/berth-pod-fields$/, 'Set privileged fields of deployments, such as images and Secrets'],
];

export const describeRole = (role: string): string =>
  ROLES.find(([name]) => name.test(role))?.[1] ?? 'Custom role';

type Right = Exclude<keyof AccessView, 'isMissing'>;

export const RIGHTS: Record<Right, string> = {
  manageDeployments: 'Deploy, change and delete models',
  usePlayground: 'Use the playground',
  manageKeys: 'Create, change and revoke API keys',
  readRequests: 'See requests and their results',
  cancelRequests: 'Cancel requests',
  readUsage: 'See usage and cost',
  readReplicas: 'See replicas',
  readLogs: 'Read logs',
  readEvents: 'Read events',
  readHistory: 'See the history of deployments',
  restartReplicas: 'Restart single replicas',
  manageWebhooks: 'Add, change and delete webhooks',
  sendTests: 'Send test events',
  readDeliveries: 'See deliveries',
  resendDeliveries: 'Resend deliveries',
  rollSecret: 'Roll the signing secret',
  manageStorage: 'Add, verify and delete storage credentials',
};
