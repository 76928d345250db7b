/** What the pods of a deployment show, with kubectl. */
import { setTimeout as sleep } from 'node:timers/promises';
import { failed, judge, kubectl, NO_CLUSTER, type Outcome, post, requireOk } from './endpoint.ts';

const { DEPLOYMENT } = process.env;

/** The preset's flags, with the parsers of the model's family, are those that the engine started with; and it fits, as was foretold. */
export async function checkStart(): Promise<Outcome> {
  const text = await kubectl('get', 'modeldeployment', DEPLOYMENT!, '-o', 'json');
  if (text === undefined) return NO_CLUSTER;
  const { status } = JSON.parse(text) as Deployment;
  const fits = status.conditions?.find(({ type }) => type === 'Fits');
  const foretold = fits ? `; Fits ${fits.status}: ${fits.message}` : '';
  return judge(
    status.phase === 'Ready',
    `${status.phase}, ${JSON.stringify(status.engine ?? {})}${foretold}`,
  );
}

interface Deployment {
  status: {
    phase: string;
    engine?: object;
    conditions?: { type: string; status: string; message: string }[];
  };
}

/** A pod that is replaced completes its streams: `--shutdown-timeout`, with a GPU's own way of ending. */
export async function checkDrain(): Promise<Outcome> {
  const names = await kubectl('get', 'pods', '-l', `berth.dev/deployment=${DEPLOYMENT}`, '-o', 'name');
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
