/** What the pods of a deployment show, with kubectl. */
import { setTimeout as sleep } from 'node:timers/promises';
import { podSelector } from '../../api/names.ts';
import { failed, judge, kubectl, NO_CLUSTER, type Outcome, post, requireOk } from './endpoint.ts';

const { DEPLOYMENT } = process.env;

interface Deployment {
  spec: { resilience?: { continueStreams?: boolean }; scaling?: { idle?: string; min?: number } };
  status: {
    phase: string;
    engine?: { reasoningParser?: string };
    scaling?: { asleep?: boolean };
    conditions?: { type: string; status: string; message: string }[];
  };
}

/** Undefined without a DEPLOYMENT. */
export async function readDeployment(): Promise<Deployment | undefined> {
  const text = await kubectl('get', 'modeldeployment', DEPLOYMENT!, '-o', 'json');
  return text === undefined ? undefined : (JSON.parse(text) as Deployment);
}

/** Arguments of kubectl. */
export function selectPods(): string[] {
  const labels = Object.entries(podSelector(DEPLOYMENT!)).map(([name, value]) => `${name}=${value}`);
  return ['-l', labels.join(',')];
}

/** The preset's flags, with the parsers of the model's family, are those that the engine started with; and it fits, as was predicted. */
export async function checkStart(): Promise<Outcome> {
  const deployment = await readDeployment();
  if (!deployment) return NO_CLUSTER;
  const { status } = deployment;
  const fits = status.conditions?.find(({ type }) => type === 'Fits');
  const predicted = fits ? `; Fits ${fits.status}: ${fits.message}` : '';
  return judge(
    status.phase === 'Ready',
    `${status.phase}, ${JSON.stringify(status.engine ?? {})}${predicted}`,
  );
}

/** A pod that is replaced completes its streams: `--shutdown-timeout`, with a GPU's own way of ending. */
export async function checkDrain(): Promise<Outcome> {
  const names = await kubectl('get', 'pods', ...selectPods(), '-o', 'name');
  if (names === undefined) return NO_CLUSTER;
  const [pod] = names.split('\n').filter(Boolean);
  if (!pod) return failed('it has no pod');
  const response = await post('/chat/completions', {
    messages: [{ role: 'user', content: 'Write a long story about a harbor.' }],
    max_tokens: 1_000,
    stream: true,
  });
  const whole = (await requireOk(response)).text();
  await sleep(500);
  await kubectl('delete', '--wait=false', pod);
  const text = await whole;
  return judge(
    /data: \[DONE\]\s*$/.test(text),
    `${text.split('data: ').length - 1} frames, the end ${text.slice(-120).trim()}`,
  );
}
