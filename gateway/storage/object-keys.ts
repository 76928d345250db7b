/** Where objects lie in a bucket. A claim's token is part of its results' keys, so a lost claim overwrites nothing. */

/** The parts of a result's key. */
export interface ResultPlace {
  workspace: string;
  request: string;
  /** The fencing token of the claim. */
  token: number;
}

const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const LONGEST_KEY = 1_024;

/** `name`: such as `image.png`. Throws a RangeError. */
export const inputKey = (workspace: string, request: string, name: string): string =>
  join('inputs', workspace, request, name);

/** `extension`: such as `png`; the first result is number 0. Throws a RangeError. */
export const resultKey = (place: ResultPlace, index: number, extension: string): string =>
  join(...resultParts(place), `${index}.${extension}`);

/** All results of one claim begin with it. Throws a RangeError. */
export const resultPrefix = (place: ResultPlace): string => `${join(...resultParts(place))}/`;

const resultParts = ({ workspace, request, token }: ResultPlace): string[] => [
  'results',
  workspace,
  request,
  String(token),
];

/** Whether a key leads nowhere else than below its bucket: also as a path of files. */
export const isPlainKey = (key: string): boolean =>
  key.length <= LONGEST_KEY && key.split('/').every((part) => PART.test(part));

function join(...parts: string[]): string {
  const key = parts.join('/');
  if (parts.some((part) => !PART.test(part)) || !isPlainKey(key))
    throw new RangeError(`"${key}" is no key of an object`);
  return key;
}
