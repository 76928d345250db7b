/** Keys of objects in a bucket. A claim's token is part of its results' keys, so a lost claim overwrites nothing. */

/** The parts of a result's key. */
export interface ResultPlace {
  workspace: string;
  request: string;
  /** The fencing token of the claim: 32 hex digits. */
  token: string;
}

const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const MAX_KEY_LENGTH = 1_024;

/** `name`: such as `image.png`. Throws a RangeError. */
export const inputKey = (workspace: string, request: string, name: string): string =>
  join('inputs', workspace, request, name);

/** `extension`: such as `png`; the first result is number 0. Throws a RangeError. */
export const resultKey = (
  { workspace, request, token }: ResultPlace,
  index: number,
  extension: string,
): string => join('results', workspace, request, token, `${index}.${extension}`);

/** Whether a key stays within its bucket, also as a file path. */
export const isPlainKey = (key: string): boolean =>
  key.length <= MAX_KEY_LENGTH && key.split('/').every((part) => PART.test(part));

/** Whether a bucket can hold a key, including its prefix, such that links stay within it. */
export const isBucketKey = (key: string): boolean =>
  Buffer.byteLength(key) <= MAX_KEY_LENGTH &&
  !/[\x00-\x1f\x7f]/.test(key) &&
  key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/**
 * Whether a full key, with any prefix that its store has or had, belongs to a workspace. Parsed from its end, where
 * all keys have the same parts: records that a tenant writes cannot refer to others' objects. A request's id follows the
 * workspace, and no workspace's name can look like one, so no prefix makes a key look like another's.
 */
export function ownsKey(workspace: string, key: string): boolean {
  const parts = key.split('/');
  const isAt = (place: number, tree: string) =>
    parts.at(place)?.endsWith(tree) === true &&
    parts.at(place + 1) === workspace &&
    OWNER.test(parts.at(place + 2)!);
  return isAt(-INPUT_PARTS, 'inputs') || isAt(-RESULT_PARTS, 'results');
}

/** A request, a batch or its file. */
const OWNER = /^(req|batch|file)_/;
const INPUT_PARTS = 4;
const RESULT_PARTS = 5;

function join(...parts: string[]): string {
  const key = parts.join('/');
  if (parts.some((part) => !PART.test(part)) || !isPlainKey(key))
    throw new RangeError(`"${key}" is not a valid object key`);
  return key;
}
