/** Serves a route that answers in text or numbers: planned, queued, delivered. */
import type { Planner } from './answer.ts';
import { deliver } from './delivery.ts';
import { checkBody, type Exchange } from './exchange.ts';
import { strike } from './faults.ts';

export const serveText =
  (plan: Planner) =>
  async (exchange: Exchange): Promise<void> => {
    const { engine, call } = exchange;
    const fault = engine.settings.takeFault();
    const breaking = fault && strike(call, fault, engine.options.exit);
    if (fault && !breaking) return;

    const fields = checkBody(exchange);
    const { ttftMs, itlMs, tokens } = engine.settings.current;
    const answer = plan(fields, { model: engine.options.model, tokens }, exchange);
    await call.waitForSlot(engine.slots);
    try {
      await deliver(exchange, { answer, ttftMs, itlMs, fault: breaking });
      const { totals } = engine.activity;
      totals.answered++;
      totals.promptTokens += answer.usage.prompt_tokens;
      totals.completionTokens += answer.usage.completion_tokens;
    } finally {
      engine.slots.leave();
    }
  };
