/**
 * Tools of a response that only a server could run. Clients such as Codex always offer some, so they are left out of what the
 * engine is sent, unless the answer would need one (decision 0166).
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import type { ApiError } from '../http/error-response.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { dropItems, getMember, getMemberOf, setMembers } from './request-body.ts';
import type { Omission } from './text-route.ts';

/** Tools that the client runs itself. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'shell',
  'apply_patch',
]);
/** Runs where its `execution` says. */
const SEARCH = 'tool_search';
const MAX_SHOWN_CHARACTERS = 60;
/** Real tools take a tenth of it; cutting items out of it takes milliseconds. */
const MAX_EDITED_CHARACTERS = 1024 * 1024;

/** Whether the client runs it. */
export const isClientTool = ({ type, execution }: JSONObject): boolean =>
  CLIENT_TOOLS.has(type) || (type === SEARCH && execution === 'client');

/** Null: the client runs all tools. Throws ApiError. */
export function omitHostedTools(body: JsonBody): Omission | null {
  const { tools, tool_choice: choice } = body.value;
  if (!Array.isArray(tools)) return null;
  const hosted = findHosted(tools);
  const [first] = hosted;
  if (!first) return null;
  const [index, type] = first;
  if (hosted.size === tools.length && choice !== 'none') throw refuseTool(`tools[${index}].type`, type);
  const types = new Set(hosted.values());
  const members = new Map([['tools', editItems(body, 'tools', (place) => hosted.has(place))]]);
  const chosen = editChoice(body, types);
  if (chosen !== null) members.set('tool_choice', chosen);
  return { names: [...types], members };
}

/** Types of the tools that only a server could run, by index. */
function findHosted(tools: readonly unknown[]): Map<number, string> {
  const hosted = new Map<number, string>();
  for (const [index, tool] of tools.entries()) {
    if (isClientTool(tool as JSONObject)) continue;
    const { type } = tool as JSONObject;
    const param = `tools[${index}].type`;
    if (type === undefined || type === null) throw requireParameter(param, ALLOWED);
    if (typeof type !== 'string') throw refuseParameter('invalid_type', param, mustBe(param, type));
    hosted.set(index, type);
  }
  return hosted;
}

/** Null: it stays as it is. */
function editChoice(body: JsonBody, hosted: ReadonlySet<unknown>): string | null {
  const { tool_choice: choice } = body.value;
  if (!isObject(choice)) return null;
  if (hosted.has(choice.type)) throw refuseTool('tool_choice', choice.type);
  if (choice.type !== 'allowed_tools' || !Array.isArray(choice.tools)) return null;
  const types: unknown[] = choice.tools.map((tool) => tool?.type);
  if (!types.some((type) => hosted.has(type))) return null;
  if (types.every((type) => hosted.has(type))) throw refuseTool('tool_choice.tools', types[0]);
  const text = getMemberOf(body, 'tool_choice')!;
  const kept = dropItems(getMember(text, 'tools')!, (index) => hosted.has(types[index]));
  return setMembers(text, new Map([['tools', kept]]));
}

function editItems(body: JsonBody, name: string, isDropped: (index: number) => boolean): string {
  const text = getMemberOf(body, name)!;
  if (text.length > MAX_EDITED_CHARACTERS)
    throw refuseParameter(
      'unsupported_value',
      name,
      `\`${name}\` has tools that run on the server, which cannot be left out of more than ${MAX_EDITED_CHARACTERS} characters: omit them.`,
    );
  return dropItems(text, isDropped);
}

const ALLOWED = `one of ${[...CLIENT_TOOLS].join(', ')}, or ${SEARCH} with \`execution\` "client"`;

const mustBe = (param: string, given: unknown): string =>
  `\`${param}\` must be ${ALLOWED}, not ${JSON.stringify(given).slice(0, MAX_SHOWN_CHARACTERS)}`;

const refuseTool = (param: string, given: unknown): ApiError =>
  refuseParameter(
    'unsupported_value',
    param,
    `${mustBe(param, given)}: tools that run on the server are not supported.`,
  );
