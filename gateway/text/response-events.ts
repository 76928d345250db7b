/**
 * Completes the events of a streamed response. Output events pass unparsed if the engine numbers its events, as vLLM
 * does; llama.cpp numbers neither events nor items, which SDKs need to assemble the output, so each event is completed.
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

/** Events that concern a part of an item. */
const OF_PARTS = /^response\.(content_part|output_text|reasoning_text|refusal)\./;
const COMPLETED = 'response.completed';
const OF_TEXT = /^response\.output_text\.(delta|done)$/;

export class ResponseEvents implements EventCompletion {
  /** Whether the engine omits sequence numbers. */
  isThorough = false;
  readonly #context: ResponseContext;
  #events = 0;
  /** Output indexes of items, by id. */
  readonly #places = new Map<unknown, number>();
  /** In seconds, as first reported. */
  #createdAt: unknown;

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  complete(name: string, event: JSONObject): boolean {
    let isChanged = this.#completeContents(event);
    if (name === COMPLETED && (event.response as JSONObject | undefined)?.status === 'incomplete')
      event.type = 'response.incomplete';
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
