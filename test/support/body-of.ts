/** A request's JSON body as routes get it. */
import type { JsonBody } from '../../gateway/http/body-parsing.ts';
import { findJsonEdges } from '../../kit/json-cost.ts';
import { readEdges } from '../../kit/json-members.ts';

export function bodyOf(text: string): JsonBody {
  const raw = Buffer.from(text);
  return { raw, value: JSON.parse(text), members: () => readEdges(raw, findJsonEdges(raw)) };
}
