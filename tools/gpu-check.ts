/**
 * What a machine without a GPU cannot show: `URL=https://…/v1 KEY=sk-… node tools/gpu-check.ts` for an endpoint whose engine runs on
 * a GPU and chats, or makes images or videos (in SIZE, of SECONDS). With DEPLOYMENT (and NAMESPACE, CONTEXT) it looks at the pods
 * with kubectl, too, and replaces one of them. The key of a model that chats needs 1,000 requests per minute. Writes a line for each
 * check; exits with 1 if one failed, and with 2 if nothing could be checked.
 */
import { CHAT_CHECKS } from './gpu-checks/chat.ts';
import { checkDrain, checkStart } from './gpu-checks/deployment.ts';
import { type Checks, failed, type Model, readModel } from './gpu-checks/endpoint.ts';
import { IMAGE_CHECKS, VIDEO_CHECKS } from './gpu-checks/media.ts';

if (!process.env.URL || !process.env.KEY) {
  console.error(
    'usage: URL=https://…/v1 KEY=sk-… [SIZE=1024x1024 SECONDS=2] [DEPLOYMENT=name NAMESPACE=default CONTEXT=kubectl-context] ' +
      'node tools/gpu-check.ts',
  );
  process.exit(2);
}

const START: Checks = { 'the engine started with the flags of its preset': checkStart };
/** By a route of the model. */
const CHECKS: Record<string, Checks> = {
  '/v1/chat/completions': {
    ...START,
    ...CHAT_CHECKS,
    'a pod that is replaced completes its streams': checkDrain,
  },
  '/v1/images/generations': { ...START, ...IMAGE_CHECKS },
  '/v1/videos': { ...START, ...VIDEO_CHECKS },
};

function chooseChecks({ id, routes }: Model): Checks {
  const route = Object.keys(CHECKS).find((each) => routes.includes(each));
  if (!route) throw new Error(`${id} neither chats nor makes images or videos: there is nothing to check`);
  return CHECKS[route]!;
}

async function main(): Promise<void> {
  const model = await readModel();
  console.log(`checking ${model.id}`);
  for (const [title, check] of Object.entries(chooseChecks(model))) {
    const { verdict, detail } = await check(model).catch((error: Error) => failed(error.message));
    console.log(`${verdict.padEnd(8)} ${title}: ${detail}`);
    if (verdict === 'failed') process.exitCode = 1;
  }
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
