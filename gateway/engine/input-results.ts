/** An engine's results by the index of their input: one for each, in that order. */
import { isObject, type JSONObject } from '../../kit/json.ts';
import { ApiError } from '../http/error-response.ts';

const MAX_SHOWN = 30;

export interface ExpectedResults {
  /** Such as `embedding`. */
  what: string;
  /** The member of the request that has the inputs. */
  member: string;
  count: number;
  /** If not all are asked for. */
  least?: number;
}

/** Throws ApiError that names the first input with no result, or several. Items without an index have that of their place. */
export function readResults(
  items: readonly unknown[],
  { what, member, count, least = count }: ExpectedResults,
): JSONObject[] {
  const results = new Map<number, JSONObject>();
  for (const [place, item] of items.entries()) {
    const result: JSONObject = isObject(item) ? item : {};
    result.index ??= place;
    const { index } = result;
    if (!isIndex(index, count))
      throw refuse(
        `an index that none of the ${count} inputs has: ${JSON.stringify(index).slice(0, MAX_SHOWN)}`,
      );
    if (results.has(index)) throw refuse(`more than one ${what} for ${nameInput(member, index)}`);
    results.set(index, result);
  }
  const indexes = Array.from({ length: count }, (_, index) => index);
  if (results.size < least)
    throw refuse(`no ${what} for ${nameInput(member, indexes.find((index) => !results.has(index))!)}`);
  return indexes.map((index) => results.get(index)).filter((result) => result !== undefined);
}

const isIndex = (value: unknown, count: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < count;

export const nameInput = (member: string, index: number): string => `\`${member}[${index}]\``;

export const refuse = (what: string): ApiError =>
  new ApiError('upstream_error', `The engine returned ${what}.`);
