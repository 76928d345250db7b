/**
 * Connections to stores, as agents of node:http, which is what the AWS SDK takes. Those to a tenant's host are checked
 * as they are made, by the guard that undici's connector uses for all other egress (decision 0350).
 */
import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createAddressPolicy } from '../egress/address-policy.ts';
import type { EgressAgentOptions } from '../egress/agent.ts';
import { buildGuardedLookup, checkLiteral, type GuardOptions } from '../egress/guarded-connector.ts';
import { NameResolver } from '../egress/name-resolver.ts';
import { parseEgressURL } from '../egress/url-policy.ts';

export interface StoreAgents {
  http: HttpAgent;
  https: HttpsAgent;
  /** Throws EgressError if a URL is not allowed. */
  check(url: string): void;
  /** Closes idle connections. */
  close(): void;
}

const MAX_SOCKETS = 64;
const SHARED: AgentOptions = { keepAlive: true, maxSockets: MAX_SOCKETS };
/** A connection for each request: none waits for others, or gets one that the store is about to close. */
export const UNSHARED: AgentOptions = { keepAlive: false };

/** For hosts that the administrator chose, which may be anywhere. `ca`: PEM to trust instead of the system's. */
export function createOwnAgents(ca?: string, settings = SHARED): StoreAgents {
  const agents = { http: new HttpAgent(settings), https: new HttpsAgent({ ...settings, ca }) };
  return { ...agents, check: () => {}, close: () => closeBoth(agents) };
}

/** For hosts that a tenant chose. */
export function createGuardedAgents(egress: EgressAgentOptions, settings = SHARED): StoreAgents {
  const guard: GuardOptions = {
    policy: egress.policy ?? createAddressPolicy(egress),
    plainHTTP: egress.plainHTTP,
    resolver: new NameResolver(egress.servers),
  };
  const agents = {
    http: new HttpAgent({ ...settings, lookup: buildGuardedLookup(guard, 'http:') }),
    https: new HttpsAgent({ ...settings, lookup: buildGuardedLookup(guard, 'https:'), ca: egress.ca }),
  };
  guardLiterals(agents.http, guard, 'http:');
  guardLiterals(agents.https, guard, 'https:');
  return {
    ...agents,
    check: (url) => {
      parseEgressURL(url, guard);
    },
    close: () => closeBoth(agents),
  };
}

function closeBoth({ http, https }: Pick<StoreAgents, 'http' | 'https'>): void {
  http.destroy();
  https.destroy();
}

function guardLiterals(agent: HttpAgent, guard: GuardOptions, protocol: string): void {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    try {
      checkLiteral(guard, options.host ?? '', protocol);
    } catch (refusal) {
      // A throw would be unhandled if the agent takes a request from its queue.
      callback?.(refusal as Error, undefined as never);
      return undefined;
    }
    return connect(options, callback);
  };
}
