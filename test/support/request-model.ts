/** A model of the queue in memory, with which the functions on a real Redis must agree at each step. */
import type { RequestStatus } from '../../api/request.ts';

export const API_KEYS = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(64));

/** A time is over either right after the step, or not within this test. */
export type Term = 'short' | 'long';

export interface Limits {
  maxQueued: number;
  queue: Term;
  job: Term;
  records: Term;
}

export type Operation =
  | { do: 'configure'; deployment: string; state: 'served' | 'deleting' | 'removed'; limits: Limits }
  | {
      do: 'submit';
      id: string;
      deployment: string;
      apiKey: string;
      priority: number;
      digest: string | null;
      price: number;
    }
  | { do: 'claim'; deployment: string; token: string; lease: Term }
  | { do: 'renew'; id: string; token: string; lease: Term; progress: number }
  | { do: 'finish'; id: string; token: string; status: 'succeeded' | 'failed' }
  | { do: 'release'; id: string; token: string }
  | { do: 'cancel'; id: string; token: string }
  | { do: 'sweep'; mayExpire: boolean }
  | { do: 'list'; deployment: string; status: RequestStatus | undefined; limit: number };

export interface ModelRequest {
  id: string;
  deployment: string;
  apiKey: string;
  price: number;
  /** Place in the order of submissions. */
  order: number;
  status: RequestStatus;
  code: string | null;
  progress: number;
  attempts: number;
  claim: string | null;
  endedBy: string | null;
  lease: Term;
  deadline: Term;
  memory: Term;
}

interface ModelDeployment {
  state: 'served' | 'deleting' | 'removed';
  limits: Limits;
  /** API keys, the one whose turn was longest ago first. */
  turns: Turn[];
}

interface Turn {
  apiKey: string;
  priority: number;
}

const MAX_ATTEMPTS = 2;

export class RequestModel {
  readonly granted: number;
  spent = 0;
  readonly requests = new Map<string, ModelRequest>();
  readonly deployments = new Map<string, ModelDeployment>();
  /** Type of the event of each request that ever ended. */
  readonly events = new Map<string, string>();
  readonly #digests = new Map<string, string>();
  readonly #claimed = new Map<string, string>();
  #submissions = 0;

  constructor(granted: number) {
    this.granted = granted;
  }

  /** Applies one step and returns what the functions must return. */
  apply(operation: Operation): unknown {
    switch (operation.do) {
      case 'configure': {
        const { deployment, state, limits } = operation;
        const turns = this.deployments.get(deployment)?.turns ?? [];
        this.deployments.set(deployment, { state, limits, turns });
        return null;
      }
      case 'submit':
        return this.#submit(operation);
      case 'claim':
        return this.#claim(operation);
      case 'renew': {
        const request = this.#held(operation);
        if (!request) return 'stale';
        if (request.deadline === 'short') return 'deadline';
        request.lease = operation.lease;
        request.progress = Math.max(request.progress, operation.progress);
        return 'renewed';
      }
      case 'finish':
        return this.#finish(operation);
      case 'release': {
        const request = this.#held(operation);
        if (!request) return false;
        request.attempts--;
        request.claim = null;
        return true;
      }
      case 'cancel':
        return this.#cancel(operation);
      case 'sweep':
        return this.#sweep(operation.mayExpire);
      case 'list':
        return this.#newest(operation.deployment)
          .filter(({ status }) => !operation.status || status === operation.status)
          .slice(0, operation.limit)
          .map(({ id, status, progress, code }) => ({ id, status, progress, code }));
    }
  }

  #newest(deployment: string): ModelRequest[] {
    return this.#oldest((request) => request.deployment === deployment).reverse();
  }

  #oldest(condition: (request: ModelRequest) => boolean): ModelRequest[] {
    return [...this.requests.values()].filter(condition).sort((a, b) => a.order - b.order);
  }

  #queue(deployment: string, apiKey?: string): ModelRequest[] {
    return this.#oldest(
      (request) =>
        request.status === 'queued' &&
        request.deployment === deployment &&
        (apiKey === undefined || request.apiKey === apiKey),
    );
  }

  #held({ id, token }: { id: string; token: string }): ModelRequest | undefined {
    const request = this.requests.get(id);
    return request?.status === 'running' && request.claim === token ? request : undefined;
  }

  #submit(operation: Operation & { do: 'submit' }): unknown {
    const { id, deployment: name, apiKey, digest, price } = operation;
    const known = this.requests.get(id);
    if (known) return { verdict: 'accepted', id, status: known.status };
    const original = this.requests.get((digest && this.#digests.get(digest)) ?? '');
    if (original) return { verdict: 'duplicate', id: original.id, status: original.status };
    const deployment = this.deployments.get(name)!;
    const { maxQueued, records } = deployment.limits;
    if (deployment.state !== 'served') return { verdict: 'gone' };
    const total = this.#queue(name).length;
    const own = this.#queue(name, apiKey).length;
    const othersWait = total > own;
    if (total >= maxQueued || (own > 0 && othersWait && own >= Math.floor(maxQueued / 2))) {
      return { verdict: 'queue_full' };
    }
    if (this.spent >= this.granted || this.spent + price > this.granted) return { verdict: 'credit' };
    this.spent += price;
    this.#joinRound(deployment, operation);
    if (digest) this.#digests.set(digest, id);
    this.requests.set(id, {
      ...{ id, deployment: name, apiKey, price, order: ++this.#submissions, status: 'queued', code: null },
      ...{ progress: 0, attempts: 0, claim: null, endedBy: null },
      ...{ lease: 'long', deadline: 'long', memory: records },
    });
    return { verdict: 'accepted', id, status: 'queued' };
  }

  #joinRound({ turns }: ModelDeployment, { apiKey, priority }: Turn): void {
    const found = turns.findIndex((turn) => turn.apiKey === apiKey);
    if (turns[found]?.priority === priority) return;
    if (found >= 0) turns.splice(found, 1);
    turns.push({ apiKey, priority });
  }

  #claim({ deployment: name, token, lease }: Operation & { do: 'claim' }): unknown {
    const earlier = this.#claimed.get(token);
    if (earlier !== undefined) {
      const request = this.#held({ id: earlier, token });
      if (!request) return null;
      request.lease = lease;
      return { id: earlier, attempt: request.attempts };
    }
    const deployment = this.deployments.get(name)!;
    if (deployment.state !== 'served') return null;
    const request = this.#takeAgain(name) ?? this.#takeNext(deployment, name, token);
    if (!request) return null;
    request.attempts++;
    Object.assign(request, { claim: token, lease });
    this.#claimed.set(token, request.id);
    return { id: request.id, attempt: request.attempts };
  }

  #takeAgain(deployment: string): ModelRequest | undefined {
    for (const request of this.#waitingAgain(deployment)) {
      if (request.deadline === 'long') return request;
      this.#end(request, 'failed', { code: 'model_timeout' });
    }
    return undefined;
  }

  #waitingAgain(deployment: string): ModelRequest[] {
    return this.#oldest(
      (request) =>
        request.deployment === deployment && request.status === 'running' && request.claim === null,
    );
  }

  #takeNext({ turns, limits }: ModelDeployment, name: string, token: string): ModelRequest | undefined {
    const highest = Math.max(...turns.map(({ priority }) => priority));
    const isForAll = Number.parseInt(token[0]!, 16) % 4 === 0;
    const turn = turns.find(({ priority }) => isForAll || priority === highest);
    if (!turn) return undefined;
    turns.splice(turns.indexOf(turn), 1);
    const [request, ...others] = this.#queue(name, turn.apiKey);
    if (others.length > 0) turns.push(turn);
    Object.assign(request!, { status: 'running', deadline: limits.job });
    return request;
  }

  #finish(operation: Operation & { do: 'finish' }): string {
    const { id, token, status } = operation;
    if (this.requests.get(id)?.endedBy === token) return 'already_done_by_you';
    const request = this.#held(operation);
    if (!request) return 'stale';
    if (request.deadline === 'short') {
      this.#end(request, 'failed', { code: 'model_timeout' });
      return 'stale';
    }
    this.#end(request, status, { code: status === 'failed' ? 'upstream_error' : null, by: token });
    return 'done';
  }

  #cancel({ id, token }: Operation & { do: 'cancel' }): unknown {
    const request = this.requests.get(id);
    if (!request) return { verdict: 'unknown' };
    if (request.status === 'queued') {
      this.#leaveQueue(request);
      this.#end(request, 'canceled', { by: token });
    }
    const byThis = request.status === 'canceled' && request.endedBy === token;
    return { verdict: byThis ? 'canceled' : 'not_cancellable', status: request.status };
  }

  #leaveQueue(request: ModelRequest): void {
    const { turns } = this.deployments.get(request.deployment)!;
    const [, ...others] = this.#queue(request.deployment, request.apiKey);
    const place = turns.findIndex(({ apiKey }) => apiKey === request.apiKey);
    if (others.length === 0) turns.splice(place, 1);
  }

  #end(request: ModelRequest, status: RequestStatus, { code = null as string | null, by = '' } = {}): void {
    Object.assign(request, { status, code, endedBy: by || null });
    if (status !== 'succeeded') this.spent -= request.price;
    this.events.set(request.id, status);
  }

  #sweep(mayExpire: boolean): unknown {
    const counts = { ended: 0, released: 0, forgotten: 0 };
    const old = this.#oldest(({ status, memory }) => /succ|fail|canc/.test(status) && memory === 'short');
    for (const request of mayExpire ? this.#oldest(() => true) : []) {
      if (request.status === 'running' && request.deadline === 'short') {
        this.#end(request, 'failed', { code: 'model_timeout' });
        counts.ended++;
      } else if (request.status === 'running' && request.claim !== null && request.lease === 'short') {
        const served = this.deployments.get(request.deployment)!.state === 'served';
        if (served && request.attempts < MAX_ATTEMPTS) {
          request.claim = null;
          counts.released++;
        } else {
          this.#end(request, 'failed', { code: 'worker_lost' });
          counts.ended++;
        }
      }
    }
    for (const [name, { state, limits }] of this.deployments) {
      if (state !== 'served') counts.ended += this.#clear(name);
      else if (mayExpire && limits.queue === 'short') counts.ended += this.#expire(name);
    }
    for (const { id } of old) this.requests.delete(id);
    return { ...counts, forgotten: old.length };
  }

  #expire(deployment: string): number {
    const queued = this.#queue(deployment);
    for (const request of queued) {
      this.#leaveQueue(request);
      this.#end(request, 'failed', { code: 'expired' });
    }
    return queued.length;
  }

  #clear(deployment: string): number {
    const lost = this.#waitingAgain(deployment);
    for (const request of lost) this.#end(request, 'failed', { code: 'worker_lost' });
    const queued = this.#queue(deployment);
    for (const request of queued) {
      this.#leaveQueue(request);
      this.#end(request, 'canceled');
    }
    return lost.length + queued.length;
  }
}
