/** The command line of `berth-listen`. Pure. */
import { parseArgs } from 'node:util';

export const USAGE = `usage: berth-listen [URL] [options]

Prints the webhooks of a Berth workspace as they come, forwards them to URL (such as
http://localhost:3000/hook), and replays them: r and Enter the last, r 3 the third.

Of "make run" on this machine:
  --folder DIR         its state folder; found by itself in this folder and those above (.berth),
                       by BERTH_STATE, or beside KUBECONFIG
  --namespace NAME     default: default

Of an installation, by its console:
  --console URL        such as https://console.example.com
  --token-file FILE    a Kubernetes bearer token, as for signing in to the console; or BERTH_TOKEN
  --namespace NAME     default: that of the token
  --endpoint NAME      only deliveries to this WebhookEndpoint
  --secret-file FILE   sign what is forwarded with the secret in it; without, it is not signed
  --plain-http         send the token over plain HTTP, to other machines, too

  --help, --version
`;

/** Where deliveries come from. */
export type Source =
  | { kind: 'run'; folder: string | null; namespace: string | null }
  | {
      kind: 'console';
      /** Origin. */
      url: string;
      tokenFile: string | null;
      secretFile: string | null;
      namespace: string | null;
      endpoint: string | null;
    };

export type Command =
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'listen'; target: string | null; source: Source };

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  folder: { type: 'string' },
  namespace: { type: 'string' },
  console: { type: 'string' },
  'token-file': { type: 'string' },
  'secret-file': { type: 'string' },
  endpoint: { type: 'string' },
  'plain-http': { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parse>['values'];
type Name = keyof typeof OPTIONS;
const OF_RUN: Name[] = ['folder'];
const OF_CONSOLE: Name[] = ['token-file', 'secret-file', 'endpoint', 'plain-http'];
const LOOPBACK = /^(([a-z0-9-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Throws with the problem. */
export function readArguments(args: string[]): Command {
  const { values, positionals } = parse(args);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  if (positionals.length > 1) throw new Error(`expected at most one URL, got ${positionals.length}`);
  const [target] = positionals;
  return {
    kind: 'listen',
    target: target ? readURL(target, 'http://localhost:3000/hook').href : null,
    source: readSource(values),
  };
}

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true });

function readSource(values: Values): Source {
  const { namespace = null } = values;
  if (values.console === undefined) {
    refuse(values, OF_CONSOLE, 'requires --console');
    return { kind: 'run', folder: values.folder ?? null, namespace };
  }
  refuse(values, OF_RUN, 'cannot be combined with --console');
  const url = readURL(values.console, 'https://console.example.com');
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname) && !values['plain-http'])
    throw new Error(
      `--console ${url.origin} would get your token over plain HTTP, where others can read it: use https, or --plain-http`,
    );
  return {
    kind: 'console',
    url: url.origin,
    tokenFile: values['token-file'] ?? null,
    secretFile: values['secret-file'] ?? null,
    namespace,
    endpoint: values.endpoint ?? null,
  };
}

function refuse(values: Values, names: Name[], reason: string): void {
  const given = names.find((name) => values[name] !== undefined);
  if (given) throw new Error(`--${given} ${reason}`);
}

function readURL(text: string, example: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Error(`${text} is not an address such as ${example}`);
}
