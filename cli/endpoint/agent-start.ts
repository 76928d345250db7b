/** `berth claude`, `codex` and `opencode`: start the agent with the settings of a deployment. */
import { findOnPath } from '../../machine/system-package.ts';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import { runInForeground } from '../framework/foreground.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { AGENT_ROUTES, type AgentName, describeAgent, INSTALL_COMMANDS, SMALL_CONTEXT } from './agents.ts';
import { KEY_VARIABLE, openEndpoint } from './endpoint.ts';

/** Ends with the exit code of the agent. With JSON it prints the settings without the key, and starts nothing. */
export async function startAgent(
  target: Target,
  { name: agent, positionals: [name], passedOn, values, flags }: Invocation & { name: AgentName },
  output: Output,
): Promise<void> {
  const { env } = process;
  const request = {
    name: name!,
    route: AGENT_ROUTES[agent],
    keyName: values.key,
    url: values.url,
    isPlainAllowed: flags.has('plain-http'),
  };
  const endpoint = await openEndpoint(target, request, env);
  if (output.isJSON)
    return output.show(describeAgent(agent, { ...endpoint, key: `$${KEY_VARIABLE}` }), () => '');
  const path = findOnPath(agent, env.PATH ?? '');
  if (!path)
    throw new Failure(
      'not_installed',
      `${agent} is not on PATH: install it, such as with ${INSTALL_COMMANDS[agent]}`,
    );
  const { id, max_model_len: context } = endpoint.model;
  if (context && context < SMALL_CONTEXT)
    output.note(
      `the context of ${id} is ${context} tokens: the first prompt of an agent has some ten thousand, and is refused if it does not fit`,
    );
  const settings = describeAgent(agent, endpoint);
  const own = { ...env, ...settings.env };
  for (const variable of settings.unset) delete own[variable];
  await target.client.close();
  output.exitCode = await runInForeground(path, [...settings.args, ...passedOn], own);
}
