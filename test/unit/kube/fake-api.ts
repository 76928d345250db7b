import { KubeApiError } from '../../../kube/api-error.ts';
import type { ListOptions, ListPage, WatchOptions } from '../../../kube/call.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { Resource } from '../../../kube/resource.ts';
import type { WatchEvent } from '../../../kube/watch-stream.ts';

export const gone = () => new KubeApiError({ code: 410, reason: 'Expired', call: 'watch things' }, 'too old');
export const broken = () =>
  new KubeApiError({ code: 0, reason: 'Unreachable', call: 'x' }, 'connection refused');

export const forbidden = () =>
  new KubeApiError({ code: 403, reason: 'Forbidden', call: 'list things' }, 'no right');

export function thing(name: string, version: number, namespace = 'ns'): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, namespace, resourceVersion: String(version) } };
}

/** A watch that the code under test has opened. */
export class FakeWatch {
  readonly options: WatchOptions;
  readonly #queue: (WatchEvent<KubeObject> | Error | 'end')[] = [];
  #wake = () => {};
  ended = false;

  constructor(options: WatchOptions) {
    this.options = options;
    options.signal.addEventListener('abort', () => this.fail(broken()));
  }

  send(type: WatchEvent<KubeObject>['type'], object: KubeObject): void {
    this.#push({ type, object });
  }
  fail(error: Error): void {
    this.#push(error);
  }
  end(): void {
    this.#push('end');
  }

  #push(item: WatchEvent<KubeObject> | Error | 'end'): void {
    this.#queue.push(item);
    this.#wake();
  }

  async *read(): AsyncGenerator<WatchEvent<KubeObject>> {
    try {
      for (;;) {
        const item = this.#queue.shift();
        if (item === undefined)
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        else if (item === 'end') return;
        else if (item instanceof Error) throw item;
        else yield item;
      }
    } finally {
      this.ended = true;
    }
  }
}

/** Lists and watches under the control of a test. */
export class FakeApi {
  objects: KubeObject[] = [];
  version = 1;
  lists: ListOptions[] = [];
  watches: FakeWatch[] = [];
  /** Called for every list; may throw, or return another page. */
  onList: (options: ListOptions) => ListPage<KubeObject> | undefined = () => undefined;
  onWatch: (watch: FakeWatch) => void = () => {};

  get open(): FakeWatch[] {
    return this.watches.filter(({ ended }) => !ended);
  }
  get lastWatch(): FakeWatch {
    return this.watches.at(-1)!;
  }

  /** The part of KubeClient that watches use. */
  readonly client = {
    list: async <T extends KubeObject>(_: Resource, options: ListOptions = {}): Promise<ListPage<T>> => {
      this.lists.push(options);
      const { namespace } = options;
      const items = this.objects.filter(({ metadata }) => !namespace || metadata.namespace === namespace);
      const page = this.onList(options) ?? {
        items: structuredClone(items),
        metadata: { resourceVersion: String(this.version) },
      };
      return page as ListPage<T>;
    },
    watch: <T extends KubeObject>(_: Resource, options: WatchOptions) => {
      const watch = new FakeWatch(options);
      this.watches.push(watch);
      this.onWatch(watch);
      return watch.read() as AsyncGenerator<WatchEvent<T>>;
    },
  };
}
