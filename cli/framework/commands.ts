/** The commands with their arguments and options: one table for parsing, help and completion. */
export interface Option {
  type: 'boolean' | 'string';
  short?: string;
  /** Name of its value in the help. */
  value?: string;
  about: string;
}

export type Completed = 'catalog' | 'shell';

export interface Command {
  about: string;
  /** Positional arguments; in brackets if they may be absent. */
  arguments: string;
  min: number;
  max: number;
  /** What the first argument is completed with. */
  completes?: Completed;
  options: Record<string, Option>;
  /** Everything after the first argument belongs to another program. */
  passesOn?: true;
}

export const COMMON_OPTIONS: Record<string, Option> = {
  namespace: { type: 'string', short: 'n', value: 'NAME', about: "namespace; the context's if absent" },
  folder: { type: 'string', value: 'DIR', about: 'state folder of make run; found by itself here and above' },
  kubeconfig: { type: 'string', value: 'FILE', about: 'of a cluster, instead of a running make run' },
  context: { type: 'string', value: 'NAME', about: 'context of the kubeconfig' },
  json: { type: 'boolean', about: 'print JSON; errors as {"error": {"code", "message"}} on stderr' },
  help: { type: 'boolean', short: 'h', about: 'print this' },
};

const KEY_OPTION: Option = {
  type: 'string',
  value: 'NAME',
  about: 'APIKey whose Secret has the key; instead of BERTH_KEY',
};

const ENDPOINT_OPTIONS: Record<string, Option> = {
  key: KEY_OPTION,
  url: { type: 'string', value: 'URL', about: 'of the endpoint, such as of a forwarded port' },
  'plain-http': { type: 'boolean', about: 'send the key over plain HTTP to other machines, too' },
};

const agent = (program: string): Command => ({
  about: `start ${program} with the model; --json prints its settings instead`,
  arguments: 'NAME [ARGUMENT…]',
  min: 1,
  max: 1,
  options: ENDPOINT_OPTIONS,
  passesOn: true,
});

export const COMMANDS = {
  why: {
    about: 'say in a sentence why a deployment is not ready, with the log line that matters',
    arguments: 'NAME',
    min: 1,
    max: 1,
    options: {},
  },
  logs: {
    about: "print the log of a deployment's pods, or all lines about a request",
    arguments: 'NAME',
    min: 1,
    max: 1,
    options: {
      request: {
        type: 'string',
        value: 'ID',
        about: 'only lines about this request, of gateways and engines',
      },
      container: { type: 'string', short: 'c', value: 'NAME', about: 'gateway or engine (engine)' },
      tail: { type: 'string', value: 'LINES', about: 'so many of the last lines (100)' },
      since: { type: 'string', value: 'TIME', about: 'not older than this, such as 30s, 5m, 2h or 1d' },
      previous: { type: 'boolean', short: 'p', about: 'of the containers before their last restart' },
    },
  },
  key: {
    about: 'create an API key and print it',
    arguments: '[NAME]',
    min: 0,
    max: 1,
    options: {
      rpm: { type: 'string', value: 'NUMBER', about: 'requests per minute (60)' },
      tpd: { type: 'string', value: 'NUMBER', about: 'tokens per UTC day (1000000)' },
      priority: { type: 'string', value: 'NUMBER', about: 'from -100 to 100 (0); write --priority=-5' },
      expires: {
        type: 'string',
        value: 'TIME',
        about: 'rejected from then on, such as 2030-01-01T00:00:00Z',
      },
      owner: {
        type: 'string',
        value: 'NAME',
        about: 'who it belongs to: usage and cost are summed by owner',
      },
      deployments: {
        type: 'string',
        value: 'NAMES',
        about: 'deployments that it may call, with commas between (all)',
      },
      budget: {
        type: 'string',
        value: 'AMOUNT[/PERIOD]',
        about: 'what it may spend in each Day, Week or Month, such as 200/Month',
      },
    },
  },
  chat: {
    about: 'chat with a model; with a message, or text on stdin, answer it and end',
    arguments: 'NAME [MESSAGE]',
    min: 1,
    max: 2,
    options: { ...ENDPOINT_OPTIONS, system: { type: 'string', value: 'TEXT', about: 'system prompt' } },
  },
  batch: {
    about: 'run the requests of a JSONL file on idle slots, and save the answers',
    arguments: 'NAME FILE',
    min: 2,
    max: 2,
    options: {
      ...ENDPOINT_OPTIONS,
      out: { type: 'string', value: 'FILE', about: 'of the answers; FILE.out.jsonl if absent' },
      window: {
        type: 'string',
        value: 'TIME',
        about: 'what is not run by then is not run, such as 1h (24h)',
      },
      'no-wait': { type: 'boolean', about: 'print the id of the batch, and do not wait for it' },
    },
  },
  deploy: {
    about: 'deploy a model of the catalog or a file; without an argument, list the catalog',
    arguments: '[NAME|FILE]',
    min: 0,
    max: 1,
    completes: 'catalog',
    options: {
      print: { type: 'boolean', about: 'print the manifest, and deploy nothing' },
      'force-conflicts': { type: 'boolean', about: 'take over fields that others have set' },
      'no-wait': { type: 'boolean', about: 'do not wait until it is ready' },
      timeout: { type: 'string', value: 'TIME', about: 'wait for so long at most (1h)' },
    },
  },
  history: {
    about: 'print the last ten specs of a deployment, with who changed what',
    arguments: 'NAME',
    min: 1,
    max: 1,
    options: {},
  },
  rollback: {
    about: 'go back to the spec of an earlier revision; replicas, scaling and pausing stay',
    arguments: 'NAME',
    min: 1,
    max: 1,
    options: { to: { type: 'string', value: 'REVISION', about: 'its number (the one before)' } },
  },
  restart: {
    about: 'replace the replicas of a deployment, or a single one, once their requests end',
    arguments: 'NAME',
    min: 1,
    max: 1,
    options: { replica: { type: 'string', value: 'POD', about: 'only this one' } },
  },
  listen: {
    about: 'print the webhooks of a workspace, forward them to URL, and replay them',
    arguments: '[URL]',
    min: 0,
    max: 1,
    options: {
      console: {
        type: 'string',
        value: 'URL',
        about: 'follow the deliveries of an installation by its console',
      },
      'token-file': {
        type: 'string',
        value: 'FILE',
        about: 'Kubernetes token for the console; or BERTH_TOKEN',
      },
      endpoint: { type: 'string', value: 'NAME', about: 'only deliveries to this WebhookEndpoint' },
      'secret-file': { type: 'string', value: 'FILE', about: 'sign what is forwarded with the secret in it' },
      'plain-http': { type: 'boolean', about: 'send the token over plain HTTP to other machines, too' },
    },
  },
  claude: agent('Claude Code'),
  codex: agent('Codex'),
  opencode: agent('opencode'),
  completion: {
    about: 'print the completion script of a shell: bash, zsh or fish',
    arguments: 'SHELL',
    min: 1,
    max: 1,
    completes: 'shell',
    options: {},
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof COMMANDS;
export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];
export const describeCommand = (name: CommandName): Command => COMMANDS[name];
