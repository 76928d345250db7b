/** The environment variables of `berth`, besides those that find `make run` or a cluster. */
import { text } from '../../api/variables.ts';

export const CLI_VARIABLES = {
  key: text('BERTH_KEY', 'API key for `berth chat` and coding agents.'),
  token: text(
    'BERTH_TOKEN',
    '`berth listen` by a console: a Kubernetes bearer token, instead of --token-file.',
  ),
} as const;
