/** URLs in the input of Responses and in Anthropic's content blocks, handled like those of chats. */
import type { ApiError } from '../http/error-response.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { formatPath, type MediaReference } from './media-inlining.ts';
import { type MessageMedia, readPart } from './message-media.ts';

type Path = MediaReference['path'];
type Visit = (value: Record<string, unknown>, path: Path, media: MessageMedia) => void;
/** Whether a member holds a tool call's arguments, which are arbitrary and plain text to the model. */
type IsArguments = (value: Record<string, unknown>, member: string) => boolean;

/** Deeper than any engine searches for media. */
const MAX_DEPTH = 12;

/** Reads the media of Responses: parts of messages and of tool results. Throws ApiError. */
export const readInputMedia = (input: unknown): MessageMedia =>
  visitAll(input, ['input'], readItem, isAction);

const isAction: IsArguments = ({ type }, member) =>
  member === 'action' && typeof type === 'string' && type.endsWith('_call');

function readItem(part: Record<string, unknown>, path: Path, media: MessageMedia): void {
  const { type, file_id: file = null } = part;
  if (file !== null && typeof type === 'string' && type.startsWith('input_'))
    throw refuseFile([...path, 'file_id']);
  readPart(part, path, media);
}

/** Reads the media of Anthropic's messages and system prompt: `source` of blocks, also within tool results. Throws ApiError. */
export function readBlockMedia(body: { messages: unknown; system: unknown }): MessageMedia {
  const media = visitAll(body.messages, ['messages'], readBlock, isInput);
  const system = visitAll(body.system, ['system'], readBlock, isInput);
  return { characters: media.characters + system.characters, media: [...media.media, ...system.media] };
}

const isInput: IsArguments = ({ type }, member) => member === 'input' && type === 'tool_use';

function readBlock(block: Record<string, unknown>, place: Path, media: MessageMedia): void {
  const { source } = block;
  if (typeof source !== 'object' || source === null) return;
  const { type, url, data } = source as Record<string, unknown>;
  const path = [...place, 'source'];
  if (typeof data === 'string') media.characters += data.length;
  if (type === 'file') throw refuseFile(path);
  if (typeof url !== 'string') return;
  if (block.type !== 'image')
    throw refuse(path, 'must carry its data, with `type` "base64" or "text": only images are fetched.');
  media.media.push({ kind: 'image', path, url, form: 'source' });
}

const refuseFile = (path: Path) =>
  refuse(path, 'is not supported: this endpoint stores no files. Send the data itself.');

function refuse(path: Path, why: string): ApiError {
  const param = formatPath(path);
  return refuseParameter('unsupported_value', param, `\`${param}\` ${why}`);
}

/** Calls `visit` for the value and every object within it except arguments. */
function visitAll(value: unknown, path: Path, visit: Visit, isArguments: IsArguments): MessageMedia {
  const media: MessageMedia = { characters: 0, media: [] };
  const walk = (within: unknown, place: Path) => {
    if (typeof within !== 'object' || within === null || place.length > MAX_DEPTH) return;
    if (Array.isArray(within)) {
      for (let index = 0; index < within.length; index++) walk(within[index], [...place, index]);
      return;
    }
    const object = within as Record<string, unknown>;
    visit(object, place, media);
    for (const [name, member] of Object.entries(object))
      if (typeof member === 'object' && !isArguments(object, name)) walk(member, [...place, name]);
  };
  walk(value, path);
  return media;
}
