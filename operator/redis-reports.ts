/** Reports Redis' state to administrators: in the log, and by events on the operator's own pod. */
import type { KubeClient } from '../kube/client.ts';
import type { EventNote } from '../kube/events.ts';
import type { Log } from '../kube/log.ts';
import type { KubeObject } from '../kube/object.ts';
import { RESOURCES } from '../kube/resource.ts';

export interface RedisReportsOptions {
  client: Pick<KubeClient, 'find'>;
  /** The operator's own. */
  pod: { name: string; namespace: string };
  record: (object: KubeObject, event: EventNote) => void;
  log: Log;
}

export class RedisReports {
  readonly #options: RedisReportsOptions;

  constructor(options: RedisReportsOptions) {
    this.#options = options;
  }

  reportState(state: 'up' | 'away', reason: string): void {
    const { log } = this.#options;
    if (state === 'up') {
      log.info({}, 'Redis recovered');
      const note = 'Redis is available again, publishing resumed';
      this.recordOnPod({ type: 'Normal', reason: 'RedisRecovered', note });
    } else {
      log.warn({ reason }, 'Redis is unavailable: objects are reconciled, but nothing is published');
      const note = `Redis is unavailable, nothing is published: ${reason}`;
      this.recordOnPod({ type: 'Warning', reason: 'RedisUnavailable', note });
    }
  }

  /** `refusal`: why requests cannot be queued; null = they can again. */
  reportRefusal(refusal: string | null): void {
    const { log } = this.#options;
    if (refusal === null) {
      log.info({}, 'queueing allowed');
      this.recordOnPod({ type: 'Normal', reason: 'QueueOpen', note: 'requests can be queued' });
    } else {
      log.warn({ reason: refusal }, 'queueing refused: asynchronous requests are answered with 503');
      const note = `requests cannot be queued: ${refusal}`;
      this.recordOnPod({ type: 'Warning', reason: 'QueueRefused', note });
    }
  }

  /** Settings by which Redis may lose data, or fill up: text is served anyway. */
  reportWarnings(warnings: readonly string[]): void {
    for (const warning of warnings) {
      this.#options.log.warn({}, warning);
      this.recordOnPod({ type: 'Warning', reason: 'RedisSettings', note: warning });
    }
  }

  recordOnPod(event: EventNote): void {
    const { client, pod, record } = this.#options;
    client.find(RESOURCES.Pod, pod).then(
      (found) => found && record(found, event),
      () => {},
    );
  }
}
