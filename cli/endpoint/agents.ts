/** Settings of coding agents for a deployment, as docs/coding-agents.md has them. Pure. */
import { type Endpoint, KEY_VARIABLE } from './endpoint.ts';

export type AgentName = 'claude' | 'codex' | 'opencode';

export interface AgentSettings {
  program: AgentName;
  /** Never the key: other users of the machine can read arguments. */
  args: string[];
  env: Record<string, string>;
  /** Variables that would lead it elsewhere, or give a key of others to this endpoint. */
  unset: string[];
}

/** What each of them calls. */
export const AGENT_ROUTES = {
  claude: '/messages',
  codex: '/responses',
  opencode: '/chat/completions',
} as const satisfies Record<AgentName, string>;

export const INSTALL_COMMANDS = {
  claude: 'npm install --global @anthropic-ai/claude-code',
  codex: 'npm install --global @openai/codex',
  opencode: 'npm install --global opencode-ai',
} as const satisfies Record<AgentName, string>;

/** In tokens: the first prompts of agents have more than half of it. */
export const SMALL_CONTEXT = 16_384;

/** A larger answer would not leave room for the prompt. */
const OUTPUT_SHARE = 4;

export const describeAgent = (name: AgentName, endpoint: Endpoint): AgentSettings => ({
  program: name,
  ...WRITERS[name](endpoint),
});

/** Claude Code prefers other clouds to a base URL, and sends these keys and headers along. */
const FOREIGN_TO_CLAUDE = [
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_GATEWAY',
  'CLAUDE_CODE_API_BASE_URL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'ANTHROPIC_UNIX_SOCKET',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_CUSTOM_HEADERS',
  'ANTHROPIC_SMALL_FAST_MODEL',
];

const WRITERS: Record<AgentName, (endpoint: Endpoint) => Omit<AgentSettings, 'program'>> = {
  claude: ({ url, key, model: { id, max_model_len: context } }) => ({
    args: [],
    unset: FOREIGN_TO_CLAUDE,
    env: {
      ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ''),
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: id,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: id,
      ANTHROPIC_DEFAULT_SONNET_MODEL: id,
      ANTHROPIC_DEFAULT_OPUS_MODEL: id,
      CLAUDE_CODE_SUBAGENT_MODEL: id,
      ...(context && {
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(context),
        CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(Math.floor(context / OUTPUT_SHARE)),
      }),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  }),
  codex: ({ url, key, model: { id, max_model_len: context } }) => {
    const settings = {
      model: id,
      model_provider: 'berth',
      ...(context && { model_context_window: context }),
      check_for_update_on_startup: false,
      'model_providers.berth.name': 'Berth',
      'model_providers.berth.base_url': url,
      'model_providers.berth.env_key': KEY_VARIABLE,
      'model_providers.berth.wire_api': 'responses',
      'analytics.enabled': false,
      'features.apps': false,
      'features.plugins': false,
    };
    // Its values are TOML, whose texts are JSON's.
    const args = Object.entries(settings).flatMap(([name, value]) => [
      '-c',
      `${name}=${JSON.stringify(value)}`,
    ]);
    return { args, env: { [KEY_VARIABLE]: key }, unset: [] };
  },
  opencode: ({ url, key, model: { id, display_name: name, max_model_len: context } }) => {
    const limit = context && { context, output: Math.floor(context / OUTPUT_SHARE) };
    const config = {
      model: `berth/${id}`,
      small_model: `berth/${id}`,
      autoupdate: false,
      share: 'disabled',
      provider: {
        berth: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Berth',
          options: { baseURL: url, apiKey: `{env:${KEY_VARIABLE}}` },
          models: { [id]: { name: name.replaceAll(/[{}]/g, ''), ...(limit && { limit }) } },
        },
      },
    };
    return {
      args: [],
      unset: [],
      env: {
        [KEY_VARIABLE]: key,
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      },
    };
  },
};
