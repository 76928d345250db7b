/**
 * Completes the events of a streamed response. Those that carry output pass unread where the engine numbers its events, as vLLM
 * does; llama.cpp numbers neither events nor items, without which SDKs cannot put its output together, so that each is completed.
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { EventCompletion } from '../engine/event-filter.ts';
import { fillAbsent } from './answer-schema.ts';
import {
  completeItem,
  completePart,
  completeResponse,
  fillEmpty,
  type ResponseContext,
} from './response-schema.ts';

/** Events about a part of an item. */
const OF_PARTS = /^response\.(content_part|output_text|reasoning_text|refusal)\./;
const OF_TEXT = /^response\.output_text\.(delta|done)$/;

export class ResponseEvents implements EventCompletion {
  /** Whether the engine leaves out the numbers of events. */
  isThorough = false;
  readonly #context: ResponseContext;
  #events = 0;
  /** Places of items in the output, by their ids. */
  readonly #places = new Map<unknown, number>();
  /** In seconds, as it was told first. */
  #createdAt: unknown;

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  complete(name: string, event: JSONObject): boolean {
    let isChanged = this.#completeContents(event);
    if (OF_TEXT.test(name)) isChanged = fillEmpty(event, 'logprobs', []) || isChanged;
    if (this.#events++ === 0) this.isThorough = event.sequence_number === undefined;
    if (!this.isThorough) return isChanged;
    event.sequence_number = this.#events - 1;
    const id = isObject(event.item) ? event.item.id : event.item_id;
    if (id !== undefined) fillAbsent(event, 'output_index', this.#findPlace(id));
    if (OF_PARTS.test(name)) fillAbsent(event, 'content_index', 0);
    return true;
  }

  #completeContents({ response, item, part }: JSONObject): boolean {
    if (isObject(response)) return this.#completeResponse(response);
    if (isObject(item)) return completeItem(item);
    return isObject(part) && completePart(part);
  }

  #completeResponse(response: JSONObject): boolean {
    const isChanged = completeResponse(response, this.#context);
    this.#createdAt ??= response.created_at;
    if (response.created_at === this.#createdAt) return isChanged;
    response.created_at = this.#createdAt;
    return true;
  }

  #findPlace(id: unknown): number {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(id, place);
    return place;
  }
}
