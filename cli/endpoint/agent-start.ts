/** `berth claude`, `codex` and `opencode`: become the agent, with the settings of a deployment. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Variables } from '../../kit/environment.ts';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import {
  AGENT_ROUTES,
  type AgentName,
  type AgentSettings,
  describeAgent,
  INSTALL_COMMANDS,
} from './agents.ts';
import { openEndpoint } from './endpoint.ts';

/** Does not return once the agent has started. With JSON it prints the settings without the key, and starts nothing. */
export async function startAgent(
  target: Target,
  { name: agent, positionals: [name], passedOn, values }: Invocation & { name: AgentName },
  output: Output,
): Promise<void> {
  const { env } = process;
  const request = { name: name!, keyName: values.key, route: AGENT_ROUTES[agent] };
  const endpoint = await openEndpoint(target, request, env);
  const settings = describeAgent(agent, endpoint);
  if (output.isJSON) return output.show(redact(settings, endpoint.key), () => '');
  const path = findProgram(agent, env);
  const args = [path, ...settings.args, ...passedOn];
  await target.client.close();
  process.execve!(path, args, { ...env, ...settings.env } as NodeJS.ProcessEnv);
}

const redact = (settings: AgentSettings, key: string): AgentSettings =>
  JSON.parse(JSON.stringify(settings).replaceAll(key, '$BERTH_KEY'));

/** Throws Failure with the command that installs it. */
export function findProgram(agent: AgentName, { PATH = '' }: Variables): string {
  const paths = PATH.split(delimiter).map((folder) => join(folder, agent));
  const found = paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found && process.execve) return found;
  if (found)
    throw new Failure('failed', 'agents can be started on Linux and macOS; --json prints their settings');
  throw new Failure(
    'not_installed',
    `${agent} is not on PATH: install it, such as with ${INSTALL_COMMANDS[agent]}`,
  );
}
