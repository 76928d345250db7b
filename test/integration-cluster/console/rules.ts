/** What RBAC grants in these tests, to members and to the console. */
import { CONSOLE_RIGHTS } from '../../../api/console-rights.ts';

const GROUP = 'berth.dev';

/** What the chart's ClusterRole for members grants. */
export const MEMBER_RULES = [
  { apiGroups: [GROUP], resources: ['workspaces'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods', 'events'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['list'] },
  {
    apiGroups: [GROUP],
    resources: ['modeldeployments', 'apikeys', 'webhookendpoints', 'storagecredentials'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
  ...Object.values(CONSOLE_RIGHTS).flatMap((right) =>
    'subresource' in right
      ? [{ apiGroups: [GROUP], resources: [`${right.resource}/${right.subresource}`], verbs: [right.verb] }]
      : [],
  ),
];

/** And what it grants the console itself. */
export const CONSOLE_RULES = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['berth-signing-secret'],
    verbs: ['get', 'patch'],
  },
  { apiGroups: [GROUP], resources: ['workspaces'], resourceNames: ['workspace'], verbs: ['patch'] },
];
