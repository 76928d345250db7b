import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { connect, deploySimulator, removeModel, waitForModel } from './installation.ts';

const SILENCE_SECONDS = 65;
const UPLOAD_SECONDS = 70;
const NAMES = ['silent', 'patient'];

// Both take more than a minute, so they run side by side.
describe('what a proxy with a timeout of one minute would break', function () {
  this.timeout(600_000);
  let answer: Promise<string | null>;
  let upload: Promise<number>;
  before(async () => {
    const silent = await deploySimulator('silent', {
      env: { SIMULATOR_TTFT_MS: String(SILENCE_SECONDS * 1000) },
    });
    const patient = await deploySimulator('patient', { limits: { bodyTimeout: '2m' } });
    await Promise.all(NAMES.map((name) => waitForModel(name)));
    answer = connect(silent)
      .chat.completions.create({ model: silent.modelId, messages: [{ role: 'user', content: 'Think.' }] })
      .then(({ choices }) => choices[0]!.message.content);
    upload = uploadSlowly(patient);
    // They are checked below, one by one.
    answer.catch(() => {});
    upload.catch(() => {});
  });
  after(() => Promise.all(NAMES.map(removeModel)));

  it(`an answer after ${SILENCE_SECONDS} s of silence`, async () => {
    expect(await answer).to.be.a('string').that.is.not.empty;
  });

  it(`a body that takes ${UPLOAD_SECONDS} s to arrive`, async () => {
    expect(await upload).to.equal(200);
  });
});

/** Resolves with the status of a chat whose body comes in by the second. */
async function uploadSlowly({ baseURL, apiKey }: EndpointEntry): Promise<number> {
  const piece = 'harbour '.repeat(500);
  const call: ClientRequest = httpRequest(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve).once('error', reject);
  });
  // An answer before the end is a refusal: it is awaited below.
  response.catch(() => {});
  call.write('{"max_tokens": 4, "messages": [{"role": "user", "content": "');
  for (let second = 0; second < UPLOAD_SECONDS && !call.destroyed; second++) {
    call.write(piece);
    await sleep(1_000);
  }
  call.end('"}]}');
  const { statusCode } = (await response).resume();
  return statusCode!;
}
