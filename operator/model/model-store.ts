/** All ModelDeployments as last seen, with the hosts and ids that each claims. */
import { deriveId } from '../../api/identity.ts';
import { type ModelDeployment, modelDeployment } from '../../api/model-deployment.ts';
import { defaultHost } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { ClaimIndex, type OwnershipClaim } from '../framework/claim-index.ts';
import { type Parsed, ParsedStore, type RawObject } from '../framework/parsed-store.ts';
import { findObstacle, type Obstacle } from '../status/obstacle.ts';
import { listServed } from './adapter-problems.ts';

type IsHostAllowed = (model: ModelDeployment, host: string) => boolean;

export class ModelStore extends ParsedStore<ModelDeployment> {
  readonly #hosts = new ClaimIndex();
  readonly #ids = new ClaimIndex();
  readonly #withdrawn = new Set<string>();
  /** Keys of adapters by the key of their base, and the other way round. */
  readonly #adapters = new Map<string, Set<string>>();
  readonly #bases = new Map<string, string>();
  /** Keys of deployments by the key of a version that answers some of their requests, and the other way round. */
  readonly #entries = new Map<string, Set<string>>();
  readonly #members = new Map<string, readonly string[]>();
  /** What those deployments see of each, as text. */
  readonly #offered = new Map<string, string>();
  /** What others see of each, as text: it changes less often than the object. */
  readonly #seen = new Map<string, string>();
  /** As last valid: an adapter, its base or a version that cannot be read for a moment is served on. */
  readonly #valid = new Map<string, ModelDeployment>();
  readonly #obstacles = new Map<string, Obstacle | undefined>();
  readonly #domain: string;
  readonly #isHostAllowed: IsHostAllowed;

  /** A disallowed host is never claimed, so that it does not block its rightful owner. */
  constructor(domain: string, isHostAllowed: IsHostAllowed) {
    super(modelDeployment);
    this.#domain = domain;
    this.#isHostAllowed = isHostAllowed;
  }

  protected onPut(key: string, { metadata }: RawObject, parsed: Parsed<ModelDeployment>): string[] {
    const isChanged = this.#noteOffer(key, parsed);
    const affected = isChanged ? this.#listEntries(key) : [];
    // It may be a newer version's, or a mistake: others must not take over what it owned meanwhile.
    if (!parsed.ok) return affected;
    // Each lends its engine only to those that name it.
    const members = this.#noteMembers(key, parsed.value);
    if (isChanged) affected.push(...members);
    const claim = { key, since: toMillis(metadata.creationTimestamp) };
    return [
      ...this.#claimHost(parsed.value, claim),
      ...this.#claimId(parsed.value, claim),
      ...this.#noteAdapter(key, parsed.value),
      ...affected,
    ];
  }

  protected onRemove(key: string): string[] {
    this.#withdrawn.delete(key);
    this.#obstacles.delete(key);
    this.#seen.delete(key);
    this.#valid.delete(key);
    this.#offered.delete(key);
    const members = this.#forgetMembers(key);
    const base = this.#bases.get(key);
    if (base !== undefined) this.#forgetAdapter(key, base);
    const related = base === undefined ? this.listAdapters(key) : [base, ...this.listAdapters(base)];
    return [
      ...this.#hosts.release(key),
      ...this.#ids.release(key),
      ...related,
      ...this.#listEntries(key),
      ...members,
    ];
  }

  /** Whether those that name it in their traffic, or that its own names, see a change of it. */
  #noteOffer(key: string, parsed: Parsed<ModelDeployment>): boolean {
    const { metadata, status } = parsed.ok ? parsed.value : {};
    const isReady = (status?.readyReplicas ?? 0) > 0;
    const offer = JSON.stringify([
      metadata?.generation,
      metadata?.deletionTimestamp,
      isReady,
      status?.sidecarVersion,
    ]);
    const isChanged = this.#offered.get(key) !== offer;
    this.#offered.set(key, offer);
    return isChanged;
  }

  /** The deployments that name this one in their traffic, and are not leaving. */
  entriesOf({ metadata: { namespace, name } }: ModelDeployment): ModelDeployment[] {
    return this.#listEntries(`${namespace}/${name}`).flatMap((key) => {
      const entry = this.isWithdrawn(key) ? undefined : this.findValid(key);
      return entry && entry.metadata.deletionTimestamp === undefined ? [entry] : [];
    });
  }

  #listEntries(key: string): string[] {
    return [...(this.#entries.get(key) ?? [])].sort();
  }

  /** Returns those that it names, or named. */
  #noteMembers(key: string, { metadata, spec }: ModelDeployment): readonly string[] {
    const before = this.#forgetMembers(key);
    const members = (spec.traffic ?? []).map(({ deployment }) => `${metadata.namespace}/${deployment}`);
    if (members.length === 0) return before;
    this.#members.set(key, members);
    for (const member of members)
      this.#entries.set(member, (this.#entries.get(member) ?? new Set()).add(key));
    return [...new Set([...before, ...members])];
  }

  #forgetMembers(key: string): readonly string[] {
    const members = this.#members.get(key) ?? [];
    for (const member of members) {
      const entries = this.#entries.get(member);
      entries?.delete(key);
      if (entries?.size === 0) this.#entries.delete(member);
    }
    this.#members.delete(key);
    return members;
  }

  /** Returns who depends on a change: the base, its other adapters, and the adapter itself, whose download may have ended. */
  #noteAdapter(key: string, model: ModelDeployment): string[] {
    const { metadata, spec, status } = model;
    this.#valid.set(key, model);
    const state = JSON.stringify([metadata.generation, metadata.deletionTimestamp, status.adapter]);
    const isChanged = this.#seen.get(key) !== state;
    this.#seen.set(key, state);
    if (!spec.adapterOf) return isChanged ? this.listAdapters(key) : [];
    const base = `${metadata.namespace}/${spec.adapterOf.deployment}`;
    this.#bases.set(key, base);
    this.#adapters.set(base, (this.#adapters.get(base) ?? new Set()).add(key));
    return isChanged ? [base, ...this.listAdapters(base)] : [];
  }

  #forgetAdapter(key: string, base: string): void {
    this.#bases.delete(key);
    const adapters = this.#adapters.get(base);
    adapters?.delete(key);
    if (adapters?.size === 0) this.#adapters.delete(base);
  }

  /** Keys of the deployments that name this one as their base. */
  listAdapters(key: string): string[] {
    return [...(this.#adapters.get(key) ?? [])].sort();
  }

  /** The deployment whose pods serve an adapter; undefined if there is none that is valid. */
  baseOf({ metadata, spec }: ModelDeployment): ModelDeployment | undefined {
    return spec.adapterOf && this.findValid(`${metadata.namespace}/${spec.adapterOf.deployment}`);
  }

  /** The adapters that name a deployment as their base, and are not leaving. */
  adaptersOf({ metadata: { namespace, name } }: ModelDeployment): ModelDeployment[] {
    return this.listAdapters(`${namespace}/${name}`).flatMap((key) => {
      const adapter = this.isWithdrawn(key) ? undefined : this.findValid(key);
      return adapter ? [adapter] : [];
    });
  }

  /** Those of them that its pods serve. */
  servedBy(base: ModelDeployment): readonly ModelDeployment[] {
    return listServed(base, this.adaptersOf(base));
  }

  /** As it is, or as it last was when it was valid. */
  findValid(key: string): ModelDeployment | undefined {
    const parsed = this.get(key);
    return parsed?.ok ? parsed.value : this.#valid.get(key);
  }

  /** Whether its base serves it. */
  isServed(adapter: ModelDeployment): boolean {
    const base = this.baseOf(adapter);
    return (
      base !== undefined && this.servedBy(base).some(({ metadata: { uid } }) => uid === adapter.metadata.uid)
    );
  }

  isAdapter(key: string): boolean {
    return this.#bases.has(key);
  }

  #claimHost(model: ModelDeployment, claim: OwnershipClaim): string[] {
    const host = this.hostOf(model);
    if (host === undefined || !this.mayHave(model, host)) return this.#hosts.claim(undefined, claim);
    return this.#hosts.claim(host, { ...claim, byName: host === this.#defaultHostOf(model) });
  }

  #claimId(model: ModelDeployment, claim: OwnershipClaim): string[] {
    const id = registrationIdOf(model);
    return this.#ids.claim(String(id), { ...claim, byName: id === derivedIdOf(model) });
  }

  /**
   * Stops publishing a deployment that is being deleted, though the object is still there. With another uid nothing
   * happens: it was recreated while its predecessor was still being processed.
   */
  withdraw(key: string, uid: string): void {
    if (this.uidOf(key) === uid) this.#withdrawn.add(key);
  }

  isWithdrawn(key: string): boolean {
    return this.#withdrawn.has(key);
  }

  /** What keeps the deployment's replicas from becoming ready: as last derived, else as its status says. */
  obstacleOf(key: string): Obstacle | undefined {
    if (this.#obstacles.has(key)) return this.#obstacles.get(key);
    const parsed = this.get(key);
    return parsed?.ok ? findObstacle(parsed.value.status) : undefined;
  }

  /** Returns whether it changed. */
  noteObstacle(key: string, obstacle: Obstacle | undefined): boolean {
    const before = this.obstacleOf(key);
    this.#obstacles.set(key, obstacle);
    return before !== obstacle;
  }

  /** Whether requests with callbacks can be made in the namespace. */
  hasMedia(namespace: string): boolean {
    return this.keys(namespace).some((key) => {
      const parsed = this.get(key);
      return parsed?.ok && (parsed.value.spec.kind === 'Image' || parsed.value.spec.kind === 'Video');
    });
  }

  /** Keys of the deployments whose results go to a StorageCredential. */
  listStoringIn({ metadata }: Pick<KubeObject, 'metadata'>): string[] {
    return this.keys(metadata.namespace!).filter((key) => {
      const parsed = this.get(key);
      return parsed?.ok && parsed.value.spec.storage.credential === metadata.name;
    });
  }

  /** The host a deployment asks for; undefined when it asks for no route. */
  hostOf(model: ModelDeployment): string | undefined {
    const { enabled, host } = model.spec.route;
    return enabled ? (host ?? this.#defaultHostOf(model)) : undefined;
  }

  #defaultHostOf({ metadata }: ModelDeployment): string {
    return defaultHost(metadata.name, metadata.namespace, this.#domain);
  }

  /** Whether the installation allows the deployment the host, if no one else has it. */
  mayHave(model: ModelDeployment, host: string): boolean {
    return this.#isHostAllowed(model, host);
  }

  /** The key of the deployment that owns the host; only one that is allowed it can own it. */
  hostOwner(host: string): string | undefined {
    return this.#hosts.owner(host);
  }

  idOwner(id: number): string | undefined {
    return this.#ids.owner(String(id));
  }
}

export const registrationIdOf = (model: ModelDeployment): number => model.spec.id ?? derivedIdOf(model);

const derivedIdOf = ({ metadata }: ModelDeployment): number =>
  deriveId('ModelDeployment', metadata.namespace, metadata.name);
