/** Writes one target into Redis. Failures throw; the publisher retries. */
import {
  workspaceDataKey,
  workspacePrefix,
  workspaceRedisPassword,
  workspaceRedisUser,
} from '../../api/identity.ts';
import type { DeploymentName } from '../../api/names.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readServerHealth } from '../../redis/durability.ts';
import {
  publishApiKeys,
  publishChangedApiKeys,
  publishDeployment,
  publishHost,
  publishReplicas,
  publishRequestPrefix,
  publishWorkspace,
  removeDeployment,
  removeHost,
  removeRequestPrefix,
  removeWorkspace,
} from '../../redis/publication/publication.ts';
import { isKnownPrefix } from '../../redis/publication/published.ts';
import { ensureWorkspaceUser, removeWorkspaceUser } from '../../redis/workspaces/users.ts';
import type { ApiKeysTarget, DesiredState, Target } from './desired-state.ts';
import { writeCredentials, writeEndpoints } from './known-entries.ts';
import type { MemoryGuard } from './memory-guard.ts';

export interface WriterSettings {
  redis: RedisClient;
  desired: DesiredState;
  /** `managed`: a user per namespace is created here; else externally, or there is one for all. */
  users: 'managed' | 'external' | 'off';
  masterKey: string;
  /** Allow queueing on a Redis that may lose requests. */
  allowVolatileQueue: boolean;
  /** Keeps workspaces within their share of memory; none if they have no users of their own. */
  guard?: MemoryGuard | undefined;
  /** The host that Redis holds for a deployment changed or was removed. */
  onHostChange?: (name: DeploymentName) => void;
  /** Unix milliseconds. */
  now?: () => number;
}

/** The plan for one target. */
export interface Plan {
  /** Retracts what is obsolete. */
  retract: () => Promise<void>;
  /** Writes what is desired. */
  write: () => Promise<void>;
}

const NOTHING: Plan = { retract: async () => {}, write: async () => {} };

export class Writer {
  readonly #settings: WriterSettings;
  /** Host last written for a deployment, so that a changed one is retracted. */
  readonly #hosts = new Map<string, string>();
  /** Hosts whose write got no reply: Redis may hold them. */
  readonly #begun = new Map<string, Set<string>>();
  #asyncRefusal: string | null = null;
  #warnings: readonly string[] = [];

  constructor(settings: WriterSettings) {
    this.#settings = settings;
  }

  /** Why nothing may be queued on this Redis, as last evaluated; null = it may. */
  get asyncRefusal(): string | null {
    return this.#asyncRefusal;
  }

  /** What is wrong with this Redis' settings, as last evaluated. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Why nothing of a workspace may be queued; null = it may. */
  refusalOf(namespace: string): string | null {
    return this.#asyncRefusal ?? this.#settings.guard?.refusalOf(namespace) ?? null;
  }

  /** Rechecks the server and reports changes. Numbers within the refusal's reason change all the time. */
  async evaluateServer(): Promise<{ isRefusalNew: boolean; areWarningsNew: boolean }> {
    const { redis, allowVolatileQueue } = this.#settings;
    const { refusal, warnings } = await readServerHealth(redis, { allowLoss: allowVolatileQueue });
    const withoutFigures = (reason: string | null) => reason?.replace(/\d+/g, '') ?? null;
    const areWarningsNew = warnings.join() !== this.#warnings.join();
    this.#warnings = warnings;
    const isRefusalNew = withoutFigures(refusal) !== withoutFigures(this.#asyncRefusal);
    if (isRefusalNew) this.#asyncRefusal = refusal;
    return { isRefusalNew, areWarningsNew };
  }

  /** The host under which the front knows a deployment, as last written. */
  hostOf({ namespace, name }: DeploymentName): string | undefined {
    return this.#hosts.get(keyOf({ namespace, name }));
  }

  /**
   * Decides what to do about a target from the current desired state. Execute plans in sequential batches: of
   * those that were made together, first all retractions, then all writes.
   */
  plan(target: Target): Plan {
    const { desired } = this.#settings;
    if (desired.unseen().has(target.namespace)) return NOTHING;
    if (target.what === 'deployment') return this.#planDeployment(target);
    if (target.what === 'workspace') return this.#planWorkspace(target.namespace);
    return { ...NOTHING, write: () => this.#writeHash(target) };
  }

  #writeApiKeys({ namespace, only }: ApiKeysTarget): Promise<boolean> {
    const { redis, desired } = this.#settings;
    if (!only) return publishApiKeys(redis, namespace, desired.apiKeys(namespace));
    const changed = [...only].map((sha256) => [sha256, desired.apiKey(namespace, sha256)] as const);
    return publishChangedApiKeys(redis, namespace, new Map(changed));
  }

  #planDeployment({ namespace, name }: DeploymentName): Plan {
    const { redis, desired } = this.#settings;
    const wanted = desired.deployment({ namespace, name });
    const host = wanted?.host;
    if (wanted === undefined)
      return {
        ...NOTHING,
        retract: async () => {
          await this.#retractHost({ namespace, name });
          await removeDeployment(redis, namespace, name);
        },
      };
    const { config, addresses, pods } = wanted;
    const writeReplicas = () => publishReplicas(redis, namespace, name, addresses, pods);
    if (config === undefined) return { ...NOTHING, write: async () => void (await writeReplicas()) };
    return {
      retract: () => this.#retractHost({ namespace, name }, host),
      write: async () => {
        await publishDeployment(redis, config);
        await writeReplicas();
        if (host !== undefined) await this.#writeHost({ namespace, name }, host);
        this.noteHost({ namespace, name }, host);
      },
    };
  }

  async #writeHost(owner: DeploymentName, host: string): Promise<void> {
    const key = keyOf(owner);
    this.#begun.set(key, new Set([...(this.#begun.get(key) ?? []), host]));
    await publishHost(this.#settings.redis, host, owner);
    this.#begun.delete(key);
  }

  /** Retracts the hosts written for a deployment, except the desired one. */
  async #retractHost(owner: DeploymentName, kept?: string): Promise<void> {
    const before = this.hostOf(owner);
    const unanswered = this.#begun.get(keyOf(owner)) ?? new Set();
    for (const host of new Set([...unanswered, ...(before === undefined ? [] : [before])])) {
      if (host === kept) continue;
      await removeHost(this.#settings.redis, host, owner);
      unanswered.delete(host);
    }
    // A kept one stays recorded until its write is acknowledged: that may fail again, and the deployment be deleted.
    if (unanswered.size === 0) this.#begun.delete(keyOf(owner));
    if (before !== undefined && before !== kept) this.noteHost(owner, undefined);
  }

  #planWorkspace(namespace: string): Plan {
    const { desired, users } = this.#settings;
    const needsUser = desired.needsUser(namespace);
    const isKnown = desired.knows(namespace);
    return {
      retract: async () => {
        if (users === 'managed' && !needsUser)
          await removeWorkspaceUser(this.#settings.redis, workspaceRedisUser(namespace));
        if (!isKnown) await this.removeWorkspace(namespace);
      },
      write: async () => {
        if (users === 'managed' && needsUser) await this.#writeUser(namespace);
        if (isKnown) await this.#writeWorkspace(namespace);
      },
    };
  }

  async #writeWorkspace(namespace: string): Promise<void> {
    const { redis, desired } = this.#settings;
    const prefix = this.#prefixOf(namespace);
    if (!(await isKnownPrefix(redis, prefix))) await publishRequestPrefix(redis, prefix);
    await publishWorkspace(redis, namespace, {
      creditMicros: desired.creditMicros(namespace),
      asyncRefusal: this.refusalOf(namespace),
      ownerEmail: desired.ownerEmail(namespace),
      keepInputsMs: desired.keepInputsMs(namespace),
      currency: desired.currency(namespace),
      owners: desired.owners(namespace),
      signingSecret: this.#sealable(namespace),
    });
  }

  async #writeHash(target: Target): Promise<void> {
    const { redis, desired } = this.#settings;
    const { what, namespace } = target;
    if (what === 'apikeys') await this.#writeApiKeys(target);
    else if (what === 'credentials') await writeCredentials(redis, namespace, desired.credentials(namespace));
    else await writeEndpoints(redis, namespace, desired.endpoints(namespace));
  }

  /** The host that Redis holds for a deployment, whoever wrote it; undefined = none. */
  noteHost({ namespace, name }: DeploymentName, host: string | undefined): void {
    const key = keyOf({ namespace, name });
    const before = this.#hosts.get(key);
    if (host === undefined) this.#hosts.delete(key);
    else this.#hosts.set(key, host);
    if (before !== host) this.#settings.onHostChange?.({ namespace, name });
  }

  /** Including all that was published of it. */
  async removeWorkspace(namespace: string): Promise<void> {
    const { redis } = this.#settings;
    await removeWorkspace(redis, namespace);
    await removeRequestPrefix(redis, this.#prefixOf(namespace));
  }

  #prefixOf(namespace: string): string {
    return workspacePrefix(this.#settings.masterKey, namespace);
  }

  #sealable(namespace: string) {
    const { desired, masterKey } = this.#settings;
    const secret = desired.signingSecret(namespace);
    return typeof secret === 'string' ? { secret, dataKey: workspaceDataKey(masterKey, namespace) } : secret;
  }

  async #writeUser(namespace: string): Promise<void> {
    const { redis, masterKey, guard } = this.#settings;
    await ensureWorkspaceUser(redis, {
      namespace,
      isSuspended: guard?.isSuspended(namespace) ?? false,
      username: workspaceRedisUser(namespace),
      password: workspaceRedisPassword(masterKey, namespace),
    });
  }
}

const keyOf = ({ namespace, name }: DeploymentName): string => `${namespace}/${name}`;
