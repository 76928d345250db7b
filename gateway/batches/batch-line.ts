/** One line of a batch's file: a request with an id of the client's. */
import { MAX_CUSTOM_ID_LENGTH } from '../../api/batch.ts';
import { isObject } from '../../kit/json.ts';
import type { JsonBody } from '../http/body-parsing.ts';

/** Why a line cannot be run; the message quotes nothing of it but what the endpoint itself defines. */
export interface LineFault {
  code: string;
  message: string;
  param: string | null;
}

export interface BatchLine {
  customId: string;
  url: string;
}

interface LineModel {
  modelId: string;
  /** That a line may ask for. */
  paths: readonly string[];
}

export function readBatchLine({ value }: Pick<JsonBody, 'value'>, model: LineModel): BatchLine | LineFault {
  const { custom_id: customId, method, url, body } = value;
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID_LENGTH)
    return fault(
      'invalid_custom_id',
      'custom_id',
      `\`custom_id\` must be a string of 1 to ${MAX_CUSTOM_ID_LENGTH} characters.`,
    );
  if (method !== 'POST') return fault('invalid_method', 'method', '`method` must be "POST".');
  if (typeof url !== 'string' || !model.paths.includes(url))
    return fault('invalid_url', 'url', `\`url\` must be one of ${model.paths.join(', ')}.`);
  if (!isObject(body)) return fault('invalid_body', 'body', '`body` must be an object.');
  if (body.model !== undefined && body.model !== null && body.model !== model.modelId)
    return fault(
      'mismatched_model',
      'body.model',
      `\`body.model\` must be "${model.modelId}", or be omitted.`,
    );
  if (body.stream === true)
    return fault('invalid_stream', 'body.stream', '`body.stream` must not be true: a batch has no streams.');
  return { customId, url };
}

const fault = (code: string, param: string, message: string): LineFault => ({ code, message, param });
