/**
 * Links the Lua files of the functions library into one text. A file declares the files of `include/` that it uses in its
 * first line, `--- @include "clock", "numbers"`; names of the prelude need no declaration. Throws for a missing include, an unused
 * one, a name that no include declares, and a function that differs from the table. No I/O.
 */
import { FUNCTIONS_LIBRARY, listWords, SIGNATURES, type Signature, toSnakeCase } from './function-table.ts';
import { writePrelude } from './lua-prelude.ts';

interface LuaFile {
  name: string;
  text: string;
  includes: string[];
  /** At its top level, for others. */
  declared: Set<string>;
  /** Anywhere in it. */
  local: Set<string>;
  used: Set<string>;
}

const INCLUDE = /^--- @include (.*)$/gm;
const pathOf = (include: string): string => `include/${include}.lua`;
const BUILT_IN = new Set([
  ...listWords(
    'and break do else elseif end false for function if in local nil not or repeat return then true until while',
  ),
  ...listWords('cjson error ipairs math pairs pcall redis string table tonumber tostring type unpack'),
]);

/** `files`: texts by path within the folder. */
export function linkLibrary(files: ReadonlyMap<string, string>): string {
  const prelude = writePrelude();
  const parsed = new Map([...files].map(([path, text]) => [path, parseFile(path, text)]));
  for (const file of parsed.values()) checkNames(file, parsed, prelude);
  const functions = [...parsed.values()].filter(({ name }) => !name.startsWith('include/'));
  checkSignatures(functions);
  const includes = orderIncludes(functions, parsed);
  const shared = listUsed(includes);
  const listStatements = (isNeeded: (name: string) => boolean): string[] =>
    [...prelude].filter(([name]) => isNeeded(name)).map(([, statement]) => statement);
  return `${[
    `#!lua name=${FUNCTIONS_LIBRARY}`,
    ...listStatements((name) => shared.has(name)),
    ...includes.map(({ text }) => text),
    // A function for each, since Lua takes at most 200 locals of one.
    ...functions.flatMap(({ used, text }) => [
      'do local function register_all()',
      ...listStatements((name) => used.has(name) && !shared.has(name)),
      text,
      'end register_all() end',
    ]),
  ].join('\n')}\n`;
}

const listUsed = (files: readonly LuaFile[]): Set<string> => new Set(files.flatMap(({ used }) => [...used]));

function parseFile(name: string, text: string): LuaFile {
  const code = text.replace(/--.*$/gm, '').replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
  const listNames = (pattern: RegExp) =>
    [...code.matchAll(pattern)].flatMap(([, names]) => names!.match(/\w+/g) ?? []);
  return {
    name,
    text: text.replace(INCLUDE, '').trim(),
    includes: [...text.matchAll(INCLUDE)].flatMap(([, names]) => names!.match(/[\w-]+/g) ?? []),
    declared: new Set(listNames(/^local (?:function )?([\w, ]+)/gm)),
    local: new Set([
      ...listNames(/\blocal (?:function )?([\w, ]+)/g),
      ...listNames(/\bfunction ?\w*\(([^)]*)\)/g),
      ...listNames(/\bfor ([\w, ]+?) (?:=|in\b)/g),
    ]),
    // Neither members nor the names of a table's fields.
    used: new Set(listNames(/(?<![.:\w])([A-Za-z_]\w*)\b(?! = )/g)),
  };
}

function checkNames(
  { name, includes, local, used }: LuaFile,
  files: ReadonlyMap<string, LuaFile>,
  prelude: ReadonlyMap<string, string>,
): void {
  const owners = new Map<string, string>();
  for (const include of includes) {
    const included = files.get(pathOf(include));
    if (!included) throw new Error(`${name} includes "${include}", which does not exist`);
    for (const each of included.declared) owners.set(each, include);
  }
  for (const each of used)
    if (!BUILT_IN.has(each) && !local.has(each) && !owners.has(each) && !prelude.has(each))
      throw new Error(`${name} uses ${each}, which none of its includes declares`);
  const needed = new Set([...used].map((each) => owners.get(each)));
  for (const include of includes)
    if (!needed.has(include)) throw new Error(`${name} includes "${include}" without using it`);
}

/** Each after those that it includes itself. */
function orderIncludes(functions: readonly LuaFile[], files: ReadonlyMap<string, LuaFile>): LuaFile[] {
  const ordered = new Set<LuaFile>();
  const add = ({ includes }: LuaFile, above: readonly string[]): void => {
    for (const include of includes) {
      if (above.includes(include)) throw new Error(`"${include}" includes itself: ${above.join(', ')}`);
      const file = files.get(pathOf(include))!;
      add(file, [...above, include]);
      ordered.add(file);
    }
  };
  for (const file of functions) add(file, []);
  return [...ordered];
}

/** That each function of the table is registered once, with its arguments. */
function checkSignatures(functions: readonly LuaFile[]): void {
  const registered = new Map(
    functions.flatMap(({ text }) =>
      [...text.matchAll(/^register\('(\w+)', function\(([^)]*)\)/gm)].map(([, name, parameters]) => [
        name!,
        parameters!.split(/,\s*/),
      ]),
    ),
  );
  for (const [name, signature] of Object.entries<Signature>(SIGNATURES)) {
    const [, ...parameters] = registered.get(toSnakeCase(name)) ?? [];
    const expected = [...(signature.rest ? ['args'] : []), ...listWords(signature.args).map(toSnakeCase)];
    if (parameters.join() !== expected.join())
      throw new Error(
        `${name} takes (${expected.join(', ')}), but is registered with (${parameters.join(', ')})`,
      );
  }
  const unknown = [...registered.keys()].filter(
    (name) => !Object.keys(SIGNATURES).map(toSnakeCase).includes(name),
  );
  if (unknown.length > 0) throw new Error(`not in the table of functions: ${unknown.join(', ')}`);
}
