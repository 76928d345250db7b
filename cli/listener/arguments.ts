/** Where `berth listen` gets deliveries from, and forwards them to. Pure. */
import { Failure } from '../framework/failure.ts';
import { isPod, isReadableByOthers } from '../framework/plain-http.ts';

/** Where deliveries come from. */
export type Source =
  | { kind: 'run' }
  | {
      kind: 'console';
      /** Origin. */
      url: string;
      tokenFile: string | null;
      secretFile: string | null;
      namespace: string | null;
      endpoint: string | null;
    };

export interface Arguments {
  /** null: deliveries are only shown. */
  target: string | null;
  source: Source;
}

type Values = Readonly<Record<string, string | undefined>>;
const OF_CONSOLE = ['token-file', 'secret-file', 'endpoint'];
const OF_CLUSTER = ['folder', 'kubeconfig', 'context'];

/** Throws Failure with the problem. */
export function readArguments(
  url: string | undefined,
  values: Values,
  flags: ReadonlySet<string>,
): Arguments {
  return {
    target: url === undefined ? null : readURL(url, 'http://localhost:3000/hook').href,
    source: readSource(values, flags.has('plain-http')),
  };
}

function readSource(values: Values, isPlainAllowed: boolean): Source {
  if (values.console === undefined) {
    refuse(values, OF_CONSOLE, 'requires --console');
    if (isPlainAllowed) throw new Failure('usage', '--plain-http requires --console');
    return { kind: 'run' };
  }
  refuse(values, OF_CLUSTER, 'cannot be combined with --console');
  const url = readURL(values.console, 'https://console.example.com');
  if (isReadableByOthers(url, isPod(process.env)) && !isPlainAllowed)
    throw new Failure(
      'usage',
      `--console ${url.origin} would get your token over plain HTTP, where others can read it: use https, or --plain-http`,
    );
  return {
    kind: 'console',
    url: url.origin,
    tokenFile: values['token-file'] ?? null,
    secretFile: values['secret-file'] ?? null,
    namespace: values.namespace ?? null,
    endpoint: values.endpoint ?? null,
  };
}

function refuse(values: Values, names: string[], reason: string): void {
  const given = names.find((name) => values[name] !== undefined);
  if (given) throw new Failure('usage', `--${given} ${reason}`);
}

function readURL(text: string, example: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Failure('usage', `${text} is not an address such as ${example}`);
}
