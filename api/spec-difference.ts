/** The fields in which two specs differ, as short texts. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Spec } from './spec-revision.ts';

export interface FieldChange {
  /** Such as `engine.args` or `engine.env[HF_HOME].value`. */
  field: string;
  /** As JSON, of long ones the part that differs; null: not set. */
  before: string | null;
  after: string | null;
}

export interface SpecDifference {
  changes: FieldChange[];
  /** How many more fields differ than are listed. */
  more: number;
}

const MAX_CHANGES = 40;
const MAX_TEXT = 300;
/** Shown before the first difference of a long text. */
const LEAD = 60;
const MAX_FIELD = 200;

/** Compares two specs as `writtenSpec` returns them. */
export function listDifferences(before: Spec, after: Spec): SpecDifference {
  const found: Difference[] = [];
  compare('', before, after, found);
  return {
    changes: found.slice(0, MAX_CHANGES).map(({ field, before: old, after: current }) => ({
      field: field.slice(0, MAX_FIELD),
      ...clip(format(old), format(current)),
    })),
    more: Math.max(0, found.length - MAX_CHANGES),
  };
}

interface Difference {
  field: string;
  before: unknown;
  after: unknown;
}

function compare(field: string, before: unknown, after: unknown, found: Difference[]): void {
  if (isDeepStrictEqual(before, after)) return;
  const [old, current] = [asFields(before), asFields(after)];
  if (!old || !current) {
    found.push({ field, before, after });
    return;
  }
  const isList = Array.isArray(before) || Array.isArray(after);
  const names = new Set([...old.keys(), ...current.keys()]);
  const count = found.length;
  for (const name of names)
    compare(isList ? `${field}[${name}]` : join(field, name), old.get(name), current.get(name), found);
  // Named items in another order.
  if (found.length === count) found.push({ field, before, after });
}

const join = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`);

/** Members of an object, or items of a list by their names; undefined where a value is compared as a whole. */
function asFields(value: unknown): Map<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const named = new Map(value.map((item: { name?: unknown } | null) => [item?.name, item]));
  const hasNames = value.length > 0 && [...named.keys()].every((name) => typeof name === 'string');
  return hasNames && named.size === value.length ? (named as Map<string, unknown>) : undefined;
}

const format = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

/** Shortens both around the first character that differs. */
function clip(before: string | null, after: string | null): Pick<FieldChange, 'before' | 'after'> {
  let same = 0;
  while (before !== null && after !== null && same < before.length && before[same] === after[same]) same++;
  const isLong = Math.max(before?.length ?? 0, after?.length ?? 0) > MAX_TEXT;
  const start = isLong ? Math.max(0, same - LEAD) : 0;
  const cut = (text: string | null) => {
    if (text === null) return null;
    const part = text.slice(start, start + MAX_TEXT);
    return `${start > 0 ? '…' : ''}${part}${start + MAX_TEXT < text.length ? '…' : ''}`;
  };
  return { before: cut(before), after: cut(after) };
}
