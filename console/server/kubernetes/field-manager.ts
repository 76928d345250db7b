/**
 * The field manager of the console's writes: the program's name with that of its user. The console writes by
 * create, update and patch, never by apply: a field belongs to the last writer, and two users of the console cannot conflict (decision 0294).
 */

const PROGRAM = 'berth-console';
const SEPARATOR = ':';
/** The API server's limit; it accepts only printable characters. */
const MAX_BYTES = 128;
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** Without a user, the console's own writes. */
export function nameFieldManager(user?: string): string {
  if (!user) return PROGRAM;
  let name = '';
  let bytes = PROGRAM.length + SEPARATOR.length;
  for (const character of user.replaceAll(UNPRINTABLE, '_')) {
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_BYTES) break;
    name += character;
  }
  return `${PROGRAM}${SEPARATOR}${name}`;
}

/** The field manager of a write. */
export const fieldManagerQuery = (user?: string): string =>
  `?fieldManager=${encodeURIComponent(nameFieldManager(user))}`;

export interface FieldManager {
  program: string;
  /** null: no particular user; Kubernetes itself records none. */
  user: string | null;
}

/** Any program may call itself so: for information only. */
export function readFieldManager(manager: string): FieldManager {
  const start = `${PROGRAM}${SEPARATOR}`;
  const user = manager.startsWith(start) ? manager.slice(start.length) : '';
  return user === '' ? { program: manager, user: null } : { program: PROGRAM, user };
}
