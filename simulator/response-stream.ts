/** The events of a streamed response. */
import type { Frame } from './answer.ts';
import type { ChatChoice } from './chat.ts';
import type { Fields } from './fields.ts';
import { splitTokens } from './text.ts';

export interface ResponseBody extends Fields {
  id: string;
  output: Fields[];
  status: string;
}

/** Numbers the events, and counts the steps of the model. */
export function* streamResponse(response: ResponseBody, choice: ChatChoice): Generator<Frame> {
  let sequence = 0;
  let step = 0;
  const frame = (type: string, more: object): Frame => ({
    step,
    data: { type, sequence_number: sequence++, ...more },
  });
  const begun = {
    ...response,
    status: 'in_progress',
    output: [],
    usage: null,
    completed_at: null,
    incomplete_details: null,
  };
  yield frame('response.created', { response: begun });
  yield frame('response.in_progress', { response: begun });
  for (const [index, item] of response.output.entries())
    for (const { type, isToken, ...more } of describeItem(item, choice)) {
      if (isToken) step++;
      yield frame(type, { output_index: index, ...more });
    }
  yield frame(`response.${response.status}`, { response });
}

interface ItemEvent extends Fields {
  type: string;
  isToken?: true;
}

const describeItem = (item: Fields, choice: ChatChoice): Iterable<ItemEvent> =>
  item.type === 'message' ? describeMessage(item, choice.tokens) : describeCall(item);

function* describeMessage(item: Fields, tokens: string[]): Generator<ItemEvent> {
  const place = { item_id: item.id, content_index: 0 };
  const [part] = item.content as Fields[];
  const empty = { ...part, text: '' };
  yield { type: 'response.output_item.added', item: { ...item, status: 'in_progress', content: [] } };
  yield { type: 'response.content_part.added', ...place, part: empty };
  for (const delta of tokens)
    yield { type: 'response.output_text.delta', isToken: true, ...place, delta, logprobs: [] };
  yield { type: 'response.output_text.done', ...place, text: part!.text, logprobs: [] };
  yield { type: 'response.content_part.done', ...place, part };
  yield { type: 'response.output_item.done', item };
}

function* describeCall(item: Fields): Generator<ItemEvent> {
  const isCustom = item.type === 'custom_tool_call';
  const [event, member] = isCustom
    ? ['response.custom_tool_call_input', 'input']
    : ['response.function_call_arguments', 'arguments'];
  const place = { item_id: item.id };
  const text = item[member!] as string;
  const started = isCustom ? item : { ...item, status: 'in_progress' };
  yield { type: 'response.output_item.added', item: { ...started, [member!]: '' } };
  for (const delta of splitTokens(text)) yield { type: `${event}.delta`, isToken: true, ...place, delta };
  yield { type: `${event}.done`, ...place, ...(isCustom ? {} : { name: item.name }), [member!]: text };
  yield { type: 'response.output_item.done', item };
}
