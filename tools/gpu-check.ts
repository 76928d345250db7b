/**
 * What a machine without a GPU cannot show: `URL=https://…/v1 KEY=sk-… node tools/gpu-check.ts` for an endpoint whose engine runs on
 * a GPU, whatever its model does: images and videos in SIZE, of SECONDS; the text of the file SOUND; the words of a VOICE. With
 * DEPLOYMENT (and NAMESPACE, CONTEXT) it looks at the pods with kubectl, too, replaces one of them, kills an engine whose streams are
 * to continue, and waits for one that is to sleep. PRIORITY_KEY has priority over KEY. ONLY is a part of
 * the titles of those checks that run. KEY needs 1,000 requests per minute, and 10 million
 * tokens per day for a model that chats. Writes a line for each check; exits with 1 if one failed, and with 2 if nothing could be checked.
 */
import { SPEECH_CHECKS, TRANSCRIPTION_CHECKS, transcribeTone } from './gpu-checks/audio.ts';
import { CHAT_CHECKS, chat } from './gpu-checks/chat.ts';
import { ANSWER_CHECKS } from './gpu-checks/chat-answers.ts';
import { checkContinued } from './gpu-checks/continued-streams.ts';
import { checkDrain, checkStart } from './gpu-checks/deployment.ts';
import { DIALECT_CHECKS } from './gpu-checks/dialects.ts';
import { type Checks, failed, type Model, readModel } from './gpu-checks/endpoint.ts';
import { IMAGE_CHECKS } from './gpu-checks/images.ts';
import { LOAD_CHECKS } from './gpu-checks/load.ts';
import { checkPriority } from './gpu-checks/priorities.ts';
import { listSleepChecks } from './gpu-checks/sleep.ts';
import { EMBEDDING_CHECKS, embedOne, RERANK_CHECKS, rankOne } from './gpu-checks/vectors.ts';
import { VIDEO_CHECKS } from './gpu-checks/videos.ts';

if (!process.env.URL || !process.env.KEY) {
  console.error(
    'usage: URL=https://…/v1 KEY=sk-… [SIZE=1024x1024 SECONDS=2 SOUND=speech.wav VOICE=name PRIORITY_KEY=sk-… ONLY=word] ' +
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
    ...ANSWER_CHECKS,
    ...DIALECT_CHECKS,
    ...LOAD_CHECKS,
    'a key of higher priority is served first': checkPriority,
    ...START,
    'streams go on when their engine is killed': checkContinued,
    'a pod that is replaced completes its streams': checkDrain,
    ...listSleepChecks(() => chat({ max_tokens: 4 })),
  },
  '/v1/embeddings': { ...EMBEDDING_CHECKS, ...START, ...listSleepChecks(embedOne) },
  '/v1/rerank': { ...RERANK_CHECKS, ...START, ...listSleepChecks(rankOne) },
  '/v1/audio/transcriptions': { ...TRANSCRIPTION_CHECKS, ...START, ...listSleepChecks(transcribeTone) },
  '/v1/audio/speech': { ...SPEECH_CHECKS, ...START },
  '/v1/images/generations': { ...IMAGE_CHECKS, ...START },
  '/v1/videos': { ...VIDEO_CHECKS, ...START },
};

const { ONLY = '' } = process.env;

function chooseChecks({ id, routes }: Model): [string, Checks[string]][] {
  const route = Object.keys(CHECKS).find((each) => routes.includes(each));
  if (!route)
    throw new Error(`${id} has none of ${Object.keys(CHECKS).join(', ')}: there is nothing to check`);
  const checks = Object.entries(CHECKS[route]!);
  const chosen = checks.filter(([title]) => title.includes(ONLY));
  if (chosen.length === 0)
    throw new Error(
      `no check has ONLY in its title; there are: ${checks.map(([title]) => title).join('; ')}`,
    );
  return chosen;
}

async function main(): Promise<void> {
  const model = await readModel();
  console.log(`checking ${model.id}`);
  for (const [title, check] of chooseChecks(model)) {
    const { verdict, detail } = await check(model).catch((error: Error) => failed(error.message));
    console.log(`${verdict.padEnd(8)} ${title}: ${detail}`);
    if (verdict === 'failed') process.exitCode = 1;
  }
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
