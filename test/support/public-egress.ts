import type { EgressSettings } from '../../gateway/egress/agent.ts';

/** Only public addresses, only https:. */
export const PUBLIC_ONLY: EgressSettings = { allow: [], deny: [], plainHTTP: false };
