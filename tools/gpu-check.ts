/**
 * What a machine without a GPU cannot show: `URL=https://…/v1 KEY=sk-… node tools/gpu-check.ts` for an endpoint whose engine runs on
 * a GPU, whatever its model does: images and videos in SIZE, of SECONDS; the text of the file SOUND; the words of a VOICE. With
 * DEPLOYMENT (and NAMESPACE, CONTEXT) it looks at the pods with kubectl, too, replaces one of them, kills an engine whose streams are
 * to go on, and waits for one that is to sleep. The key needs 1,000 requests per minute. Writes a line for each check; exits with 1
 * if one failed, and with 2 if nothing could be checked.
 */
import { hearOne, SPEECH_CHECKS, TRANSCRIPTION_CHECKS } from './gpu-checks/audio.ts';
import { CHAT_CHECKS, chat } from './gpu-checks/chat.ts';
import { checkContinued } from './gpu-checks/continued-streams.ts';
import { checkDrain, checkStart } from './gpu-checks/deployment.ts';
import { DIALECT_CHECKS } from './gpu-checks/dialects.ts';
import { type Checks, failed, type Model, readModel } from './gpu-checks/endpoint.ts';
import { IMAGE_CHECKS, VIDEO_CHECKS } from './gpu-checks/media.ts';
import { listSleepChecks } from './gpu-checks/sleep.ts';
import { EMBEDDING_CHECKS, embedOne, RERANK_CHECKS, rankOne } from './gpu-checks/vectors.ts';

if (!process.env.URL || !process.env.KEY) {
  console.error(
    'usage: URL=https://…/v1 KEY=sk-… [SIZE=1024x1024 SECONDS=2 SOUND=speech.wav VOICE=name] ' +
      '[DEPLOYMENT=name NAMESPACE=default CONTEXT=kubectl-context] node tools/gpu-check.ts',
  );
  process.exit(2);
}

/** After requests that wake one from zero. */
const START: Checks = { 'the engine started with the flags of its preset': checkStart };
/** By a route of the model. */
const CHECKS: Record<string, Checks> = {
  '/v1/chat/completions': {
    ...CHAT_CHECKS,
    ...DIALECT_CHECKS,
    ...START,
    'streams go on when their engine is killed': checkContinued,
    'a pod that is replaced completes its streams': checkDrain,
    ...listSleepChecks(() => chat({ max_tokens: 4 })),
  },
  '/v1/embeddings': { ...EMBEDDING_CHECKS, ...START, ...listSleepChecks(embedOne) },
  '/v1/rerank': { ...RERANK_CHECKS, ...START, ...listSleepChecks(rankOne) },
  '/v1/audio/transcriptions': { ...TRANSCRIPTION_CHECKS, ...START, ...listSleepChecks(hearOne) },
  '/v1/audio/speech': { ...SPEECH_CHECKS, ...START },
  '/v1/images/generations': { ...IMAGE_CHECKS, ...START },
  '/v1/videos': { ...VIDEO_CHECKS, ...START },
};

function chooseChecks({ id, routes }: Model): Checks {
  const route = Object.keys(CHECKS).find((each) => routes.includes(each));
  if (!route)
    throw new Error(`${id} has none of ${Object.keys(CHECKS).join(', ')}: there is nothing to check`);
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
