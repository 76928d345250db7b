/** Serves a route that answers in text or numbers: planned, queued, delivered. */
import { type Answer, countCached, type PlanContext } from './answer.ts';
import { readPath } from './control.ts';
import { deliver } from './delivery.ts';
import { checkBody, type Exchange } from './exchange.ts';
import { strike } from './faults.ts';
import type { Fields } from './fields.ts';
import { DRAINING, isQueueFull, refuseAsFull } from './full-queue.ts';

/** Makes the answer to a request's body; throws an EngineError to refuse it. */
export type Planner = (body: Fields, context: PlanContext, exchange: Exchange) => Answer;

export const serveText =
  (plan: Planner) =>
  async (exchange: Exchange): Promise<void> => {
    const { engine, call } = exchange;
    const fault = engine.settings.takeFault();
    const breaking = fault && strike(call, fault, engine.options.exit);
    if (fault && !breaking) return;

    const fields = checkBody(exchange);
    const { itlMs, cacheTokens, draining, tokens, contextTokens, looseTools } = engine.settings.current;
    if (draining) throw DRAINING;
    const cache = cacheTokens > 0 ? engine.cache : null;
    const habits = engine.personality.text;
    const model = String(fields.model ?? engine.options.model);
    const context = { model, tokens, contextTokens, looseTools, cache, habits };
    const answer = plan(habits?.read(readPath(call.request), fields, context) ?? fields, context, exchange);
    const { usage, conversation, inputs } = answer;
    if (isQueueFull(engine)) return refuseAsFull(engine, call, answer);
    const returnPermits = inputs && engine.permits.take(inputs, engine.personality.bounds.permits);
    try {
      await call.waitForSlot(engine.slots);
      try {
        const ttftMs = engine.beginPrefill(usage.prompt_tokens - countCached(usage));
        await deliver(exchange, { answer, ttftMs, itlMs, fault: breaking });
        if (conversation !== undefined) cache?.add(conversation);
        const { totals } = engine.activity;
        totals.answered++;
        totals.promptTokens += usage.prompt_tokens;
        totals.completionTokens += usage.completion_tokens;
      } finally {
        engine.slots.leave();
      }
    } finally {
      returnPermits?.();
    }
  };
