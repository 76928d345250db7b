/** Label and field selectors of lists and watches. */
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import { badRequest } from './status-error.ts';

export type Predicate = (object: KubeObject) => boolean;

/** `a=b,c!=d,e in (f,g),h,!i`. Throws StatusError 400. */
export function parseLabelSelector(text: string): Predicate {
  const terms = text.match(/[^,(]+(\([^)]*\))?/g)?.map((term) => parseTerm(term.trim())) ?? [];
  return ({ metadata: { labels = {} } }) => terms.every((matches) => matches(labels));
}

type Labels = Readonly<Record<string, string>>;

function parseTerm(term: string): (labels: Labels) => boolean {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set) {
    const [, name = '', operator, values = ''] = set;
    const wanted = new Set(values.split(',').map((value) => value.trim()));
    return (labels) => (labels[name] !== undefined && wanted.has(labels[name])) === (operator === 'in');
  }
  const equal = /^([^\s!=]+)\s*(==|=|!=)\s*(\S*)$/.exec(term);
  if (equal) {
    const [, name = '', operator, value] = equal;
    return (labels) => (labels[name] === value) === (operator !== '!=');
  }
  const exists = /^(!?)([^\s!=]+)$/.exec(term);
  if (exists) return (labels) => (labels[exists[2]!] === undefined) === (exists[1] === '!');
  throw badRequest(`unable to parse requirement: ${term}`);
}

/** `metadata.name=x,involvedObject.kind!=y`. Throws StatusError 400. */
export function parseFieldSelector(text: string): Predicate {
  const terms = text
    .split(',')
    .filter((term) => term.trim() !== '')
    .map((term) => {
      const match = /^\s*([^\s!=]+)\s*(==|=|!=)\s*(.*?)\s*$/.exec(term);
      if (!match) throw badRequest(`invalid field selector: ${term}`);
      const [, path = '', operator, value] = match;
      return (object: KubeObject) => (readField(object, path) === value) === (operator !== '!=');
    });
  return (object) => terms.every((matches) => matches(object));
}

function readField(object: KubeObject, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), object);
  return value === undefined || value === null ? '' : String(value);
}
