/** POST /tokenize and /detokenize: what one takes apart, the other puts together again. */
import { type Answer, type PlanContext, sumUsage } from './answer.ts';
import { refuse, refuseField, refuseRoute } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type Fields, readBoolean } from './fields.ts';
import { readConversation } from './messages.ts';
import { decodeTokens } from './text.ts';

/** Four ASCII characters are a token, 7 bits each behind a leading 1; every other character is a token of its own. */
const BITS = 7;
const CHARACTER = 2 ** 30;
const MAX_CODE_POINT = 0x10ffff;
const MAX_TOKENS = 1_048_576;

export function planTokenize(body: Fields, { contextTokens }: PlanContext, { engine }: Exchange): Answer {
  if (engine.personality.tokenRoutes === 'tei') return planPieces(body);
  const withTexts = readBoolean(body, 'return_token_strs');
  readBoolean(body, 'add_special_tokens');
  const pieces = splitPieces(readPrompt(body));
  return plan(() => ({
    count: pieces.length,
    max_model_len: contextTokens,
    tokens: pieces.map(encodePiece),
    token_strs: withTexts ? pieces : null,
  }));
}

export function planDetokenize(body: Fields, _: PlanContext, { engine }: Exchange): Answer {
  if (engine.personality.tokenRoutes === 'tei') throw refuseRoute(404);
  const { tokens } = body;
  if (tokens === undefined || tokens === null) throw refuseField(['tokens'], 'Field required');
  if (!Array.isArray(tokens)) throw refuseField(['tokens'], 'Input should be a valid list');
  if (tokens.length > MAX_TOKENS) throw refuse(`tokens must hold at most ${MAX_TOKENS} entries.`, 'tokens');
  const prompt = tokens.map(decodeToken).join('');
  return plan(() => ({ prompt }));
}

/** GET /tokenizer_info: what vLLM shows of a tokenizer's settings. */
export const describeTokenizer = (contextTokens: number): object => ({
  tokenizer_class: 'SimulatorTokenizer',
  model_max_length: contextTokens,
  bos_token: null,
  eos_token: '<|end|>',
  pad_token: '<|end|>',
  chat_template: '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}',
});

/** As TEI has it: a list for each of the inputs. */
function planPieces({ inputs }: Fields): Answer {
  const texts = Array.isArray(inputs) ? inputs : [inputs];
  if (!texts.every((text) => typeof text === 'string'))
    throw refuseField(['inputs'], 'Input should be a string or a list of strings');
  return plan(() =>
    texts.map((text) => {
      let stop = 0;
      return splitPieces(text).map((piece) => {
        const start = stop;
        stop += piece.length;
        return { id: encodePiece(piece), text: piece, special: false, start, stop };
      });
    }),
  );
}

/** POST /decode, of TEI alone: a list of token ids, or several. */
export function planDecode({ ids }: Fields, _: PlanContext, { engine }: Exchange): Answer {
  if (engine.personality.tokenRoutes !== 'tei') throw refuseRoute(404);
  if (!Array.isArray(ids)) throw refuseField(['ids'], 'Input should be a list of token ids');
  const lists: unknown[] = Array.isArray(ids[0]) ? ids : [ids];
  if (!lists.every(Array.isArray)) throw refuseField(['ids'], 'Input should be lists of token ids');
  return plan(() => lists.map((list) => (list as unknown[]).map(decodeToken).join('')));
}

/** No tokens are spent. */
const plan = (buildBody: () => object): Answer => ({
  steps: 1,
  usage: sumUsage(0, 0),
  buildBody,
  frames: null,
});

function readPrompt(body: Fields): string {
  if (body.messages !== undefined && body.messages !== null) return readConversation(body).prompt;
  if (typeof body.prompt !== 'string') throw refuseField(['prompt'], 'Input should be a valid string');
  return body.prompt;
}

export const splitPieces = (text: string): string[] => text.match(/\p{ASCII}{1,4}|\P{ASCII}/gu) ?? [];

function encodePiece(piece: string): number {
  const first = piece.codePointAt(0)!;
  if (first > 0x7f) return CHARACTER + first;
  let token = 1;
  for (let index = 0; index < piece.length; index++) token = token * 2 ** BITS + piece.charCodeAt(index);
  return token;
}

/** What `encodePiece` never makes stands for a word. */
function decodeToken(token: unknown, index: number): string {
  if (typeof token !== 'number' || !Number.isInteger(token) || token < 0)
    throw refuseField(['tokens', index], 'Input should be a valid integer');
  if (token >= CHARACTER)
    return token - CHARACTER <= MAX_CODE_POINT
      ? String.fromCodePoint(token - CHARACTER)
      : decodeTokens([token]);
  let text = '';
  let rest = token;
  for (; rest >= 2 ** BITS; rest = Math.floor(rest / 2 ** BITS))
    text = String.fromCharCode(rest % 2 ** BITS) + text;
  return rest === 1 ? text : decodeTokens([token]);
}
