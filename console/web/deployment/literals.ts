/** JSON values as Python and TypeScript write them. Pure. */

export type JSONValue =
  | string
  | number
  | boolean
  | null
  | readonly JSONValue[]
  | { readonly [name: string]: JSONValue };

interface Dialect {
  quote: (text: string) => string;
  /** Name of an object's member. */
  nameMember: (name: string) => string;
  /** Those that JSON writes otherwise. */
  constants: Record<string, string>;
  indent: string;
  /** Inside the braces of an object on one line. */
  padding: string;
}

/** Longer lists and objects get a line for each entry. */
const MAX_LINE_LENGTH = 80;

/** In single quotes. */
export const quoteTypeScript = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

const PYTHON: Dialect = {
  // Python reads all escapes of JSON.
  quote: (text) => JSON.stringify(text),
  nameMember: (name) => JSON.stringify(name),
  constants: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
  padding: '',
};
const TYPESCRIPT: Dialect = {
  quote: quoteTypeScript,
  nameMember: (name) => (/^[a-z_]\w*$/i.test(name) ? name : quoteTypeScript(name)),
  constants: {},
  indent: '  ',
  padding: ' ',
};

/** `depth`: how far the line it stands in is indented. */
export const writePython = (value: JSONValue, depth = 0): string => write(value, PYTHON, depth);
export const writeTypeScript = (value: JSONValue, depth = 0): string => write(value, TYPESCRIPT, depth);

function write(value: JSONValue, dialect: Dialect, depth: number): string {
  if (typeof value === 'string') return dialect.quote(value);
  if (typeof value !== 'object' || value === null) return dialect.constants[String(value)] ?? String(value);
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((item) => write(item, dialect, depth + 1))
    : Object.entries(value).map(
        ([name, item]) => `${dialect.nameMember(name)}: ${write(item, dialect, depth + 1)}`,
      );
  const [open, close, padding] = isList ? ['[', ']', ''] : ['{', '}', dialect.padding];
  if (entries.length === 0) return open + close;
  const line = `${open}${padding}${entries.join(', ')}${padding}${close}`;
  if (line.length <= MAX_LINE_LENGTH && !line.includes('\n')) return line;
  const start = dialect.indent.repeat(depth);
  return `${open}\n${entries.map((entry) => `${start}${dialect.indent}${entry},\n`).join('')}${start}${close}`;
}
