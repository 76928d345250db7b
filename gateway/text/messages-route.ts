/** Anthropic's Messages and token counting (docs/api.md, "POST /v1/messages"). */
import type { JSONObject } from '../../kit/json.ts';
import { readMessagesUsage } from '../engine/answer.ts';
import { openMessagesDialect } from '../engine/event-dialects.ts';
import { EventFilter } from '../engine/event-filter.ts';
import { estimateOutput } from '../engine/token-estimate.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { COUNT_FIELDS, MESSAGES_FIELDS } from './fields.ts';
import { readBlockMedia } from './input-media.ts';
import { completeMessage, completeMessageEvents } from './message-schema.ts';
import type { TextRoute } from './text-route.ts';

const readMedia = ({ messages, system }: JSONObject) => readBlockMedia({ messages, system });

export const MESSAGES: TextRoute = {
  path: '/v1/messages',
  fields: MESSAGES_FIELDS,
  refuse: refuseServerTools,
  readMedia,
  readPrompt: ({ tools, system, messages }) => [tools, system, ...(messages as unknown[])],
  stream: {
    needsUsageOption: false,
    watch: (modelId) => new EventFilter(openMessagesDialect(), completeMessageEvents(modelId)),
  },
  complete: completeMessage,
  readUsage: readMessagesUsage,
  estimateOutput,
};

export const COUNT_TOKENS: TextRoute = {
  path: '/v1/messages/count_tokens',
  fields: COUNT_FIELDS,
  refuse: refuseServerTools,
  readMedia,
  stream: null,
  complete: () => false,
  // Nothing is generated.
  readUsage: () => null,
};

/** Anthropic's own tools that the client runs, by their names without dates. */
const CLIENT_TOOLS = /^(custom|(bash|text_editor|computer|memory)_\d+)$/;

function refuseServerTools({ tools, mcp_servers: servers }: JSONObject): void {
  if (Array.isArray(servers) && servers.length > 0)
    throw refuseParameter(
      'unsupported_parameter',
      'mcp_servers',
      '`mcp_servers` is not supported: call MCP servers from the client.',
    );
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    const type: unknown = tool?.type ?? 'custom';
    if (typeof type === 'string' && CLIENT_TOOLS.test(type)) continue;
    const param = `tools[${index}].type`;
    throw refuseParameter(
      'unsupported_value',
      param,
      `\`${param}\` ${JSON.stringify(type).slice(0, 60)} is not supported: tools that run on the server are not; send tools with an \`input_schema\`.`,
    );
  }
}
