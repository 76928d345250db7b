/** OpenAI's Responses (docs/api.md, "POST /v1/responses"), without features that need a store or server-side tools. */
import type { JSONObject } from '../../kit/json.ts';
import { readResponsesUsage } from '../engine/answer.ts';
import { RESPONSES_DIALECT } from '../engine/event-dialects.ts';
import { EventFilter } from '../engine/event-filter.ts';
import { estimateOutput } from '../engine/token-estimate.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { RESPONSES_FIELDS } from './fields.ts';
import { omitHostedTools } from './hosted-tools.ts';
import { readInputMedia } from './input-media.ts';
import { RequestEcho } from './request-echo.ts';
import { ResponseEvents } from './response-events.ts';
import { completeResponse, ECHOED_MEMBERS, type ResponseContext } from './response-schema.ts';
import type { AnswerRequest, TextRoute } from './text-route.ts';

export const RESPONSES: TextRoute = {
  path: '/v1/responses',
  fields: RESPONSES_FIELDS,
  refuse: refuseState,
  omit: omitHostedTools,
  readMedia: ({ input }) => readInputMedia(input),
  readPrompt: ({ tools, instructions, input }) => [
    tools,
    instructions,
    ...(Array.isArray(input) ? input : [input]),
  ],
  // By default, engines keep responses in memory forever (decision 0165).
  fixed: new Map([['store', 'false']]),
  stream: { needsUsageOption: false, watch: watchEvents },
  complete: (answer, modelId, request) => completeResponse(answer, readContext(modelId, request)),
  readUsage: readResponsesUsage,
  estimateOutput,
};

const readContext = (modelId: string, request: AnswerRequest): ResponseContext => ({
  modelId,
  echo: new RequestEcho(ECHOED_MEMBERS, () => request.payload),
  now: Date.now,
});

function watchEvents(modelId: string, request: AnswerRequest): EventFilter {
  return new EventFilter(RESPONSES_DIALECT, new ResponseEvents(readContext(modelId, request)));
}

/** Members that need a store, and what to send instead. */
const STATEFUL: Readonly<Record<string, string>> = {
  background: 'Stream the response instead.',
  previous_response_id: 'Send the items of earlier turns in `input`.',
  conversation: 'Send the items of earlier turns in `input`.',
  prompt: 'Send its text as `instructions` and `input`.',
};

const NOT_STORED = 'This endpoint stores no responses.';

function refuseState(body: JSONObject): void {
  for (const [name, remedy] of Object.entries(STATEFUL)) {
    const value = body[name];
    if (value === undefined || value === null || value === false) continue;
    throw value === true
      ? refuseParameter(
          'unsupported_value',
          name,
          `Unsupported value: \`${name}\` cannot be true. ${NOT_STORED} ${remedy}`,
        )
      : refuseParameter(
          'unsupported_parameter',
          name,
          `Unsupported parameter: \`${name}\`. ${NOT_STORED} ${remedy}`,
        );
  }
  if (Array.isArray(body.input))
    for (const [index, item] of body.input.entries()) refuseReference(item, index);
}

/** An item by its id. OpenAI's schema makes its type optional. */
function refuseReference({ type, id, role }: JSONObject, index: number): void {
  const isUntyped = (type === undefined || type === null) && role === undefined && typeof id === 'string';
  if (type !== 'item_reference' && !isUntyped) return;
  const param = `input[${index}]`;
  throw refuseParameter(
    'unsupported_value',
    param,
    `\`${param}\` refers to an item of an earlier response by its id. ${NOT_STORED} Send the item itself; SDKs that send references do so with \`store: false\`.`,
  );
}
