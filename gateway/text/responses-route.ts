/** OpenAI's Responses (docs/api.md, "POST /v1/responses"), without features that need a store or server-side tools. */
import type { JSONObject } from '../../kit/json.ts';
import { readResponsesUsage } from '../engine/answer.ts';
import { RESPONSES_DIALECT } from '../engine/event-dialects.ts';
import { EventFilter } from '../engine/event-filter.ts';
import { estimateOutput } from '../engine/token-estimate.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { RESPONSES_FIELDS } from './fields.ts';
import { readInputMedia } from './input-media.ts';
import { RequestEcho } from './request-echo.ts';
import { ResponseEvents } from './response-events.ts';
import { completeResponse, ECHOED_MEMBERS, type ResponseContext } from './response-schema.ts';
import type { TextRequest } from './text-request.ts';
import type { TextRoute } from './text-route.ts';

export const RESPONSES: TextRoute = {
  path: '/v1/responses',
  fields: RESPONSES_FIELDS,
  refuse: (body) => {
    refuseState(body);
    refuseHostedTools(body.tools);
  },
  readMedia: ({ input }) => readInputMedia(input),
  readPrompt: ({ tools, instructions, input }) => [
    tools,
    instructions,
    ...(Array.isArray(input) ? input : [input]),
  ],
  // By default, engines keep responses in memory forever.
  fixed: new Map([['store', 'false']]),
  stream: { needsUsageOption: false, watch: watchEvents },
  complete: (answer, modelId, request) => completeResponse(answer, readContext(modelId, request)),
  readUsage: readResponsesUsage,
  estimateOutput,
};

const readContext = (modelId: string, request: TextRequest): ResponseContext => ({
  modelId,
  echo: new RequestEcho(ECHOED_MEMBERS, () => request.payload),
  now: Date.now,
});

function watchEvents(modelId: string, request: TextRequest): EventFilter {
  return new EventFilter(RESPONSES_DIALECT, new ResponseEvents(readContext(modelId, request)));
}

/** Members that refer to stored objects, and what to send instead. */
const STATEFUL: Readonly<Record<string, string>> = {
  previous_response_id: 'Send the items of earlier turns in `input`.',
  conversation: 'Send the items of earlier turns in `input`.',
  prompt: 'Send its text as `instructions` and `input`.',
};

/** Flags of which only false is served. */
const STORING: Readonly<Record<string, string>> = {
  store: 'Send false, or omit it.',
  background: 'Stream the response instead.',
};

function refuseState(body: JSONObject): void {
  for (const [name, remedy] of Object.entries(STORING))
    if (body[name] === true)
      throw refuseParameter(
        'unsupported_value',
        name,
        `Unsupported value: \`${name}\` cannot be true. This endpoint stores no responses. ${remedy}`,
      );
  for (const [name, remedy] of Object.entries(STATEFUL)) {
    const value = body[name];
    if (value === undefined || value === null || value === false) continue;
    throw refuseParameter(
      'unsupported_parameter',
      name,
      `Unsupported parameter: \`${name}\`. This endpoint stores no responses. ${remedy}`,
    );
  }
}

/** Tools that the client runs itself. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'shell',
  'apply_patch',
]);
const MAX_SHOWN_CHARACTERS = 60;

function refuseHostedTools(tools: unknown): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    const type: unknown = tool?.type;
    if (CLIENT_TOOLS.has(type)) continue;
    const param = `tools[${index}].type`;
    const allowed = `one of ${[...CLIENT_TOOLS].join(', ')}`;
    if (type === undefined || type === null) throw requireParameter(param, allowed);
    const text = JSON.stringify(type).slice(0, MAX_SHOWN_CHARACTERS);
    throw refuseParameter(
      typeof type === 'string' ? 'unsupported_value' : 'invalid_type',
      param,
      `\`${param}\` must be ${allowed}, not ${text}: tools that run on the server are not supported.`,
    );
  }
}
