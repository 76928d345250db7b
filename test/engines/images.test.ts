/** Images of the real engine, through the gateway and directly. */
import { expect } from 'chai';
import { findMediaEngine } from '../../api/media-engines.ts';
import { describePicture, makePicture } from '../support/media-files.ts';
import { pollUntil } from '../support/poll.ts';
import { ask, type Fields, send } from './answers.ts';
import { readEngine } from './catalog.ts';
import { addedLatency, tellMeasure } from './measures.ts';
import { type Files, readPictures, sendForm } from './media-calls.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const { maskField, maxSteps, sideStep } = findMediaEngine(name);
const GENERATIONS = '/images/generations';
const EDITS = '/images/edits';
/** Step of FLUX. */
const MODEL_STEP = 16;
const SIZE = '64x64';
/** Takes seconds on a CPU. */
const LARGE = '768x768';
/** vLLM-Omni hangs when it is stopped while it generates an image: it counts as silent after a minute, and is restarted after 5 more. */
const RESTART_TIMEOUT_MS = 420_000;

const order = (fields: Fields = {}): Fields => ({
  prompt: 'a harbour at dawn',
  size: SIZE,
  n: 1,
  seed: 7,
  num_inference_steps: 2,
  response_format: 'b64_json',
  ...fields,
});

const LONG = { size: LARGE, num_inference_steps: Math.min(maxSteps, 200) };

describe(`images of ${name}`, function () {
  this.timeout(900_000);
  let served: ServedModel;
  let picture: Buffer;
  before(async () => {
    picture = await makePicture(64, 64);
    served = await serveModel(name, {
      kind: 'Image',
      spec: {
        concurrency: 1,
        image: {
          sizes: [SIZE, LARGE],
          tasks: ['txt2img', 'img2img'],
          parameters: ['seed', 'num_inference_steps', 'guidance_scale', 'negative_prompt'],
          steps: { min: 1, max: maxSteps, default: 2 },
        },
        limits: { waitForSlot: '120s' },
      },
    });
  });
  after(() => served?.stop());

  it('are those that the engine itself makes with the same seed', async () => {
    const direct = readPictures(await ask(served.engine, GENERATIONS, order()));
    const behind = readPictures(await ask(served.gateway, GENERATIONS, order()));
    expect(await describePicture(behind[0]!)).to.match(/^(png|jpeg) 64x64$/);
    expect(behind[0]!.equals(direct[0]!)).to.equal(true);
    const [other] = readPictures(await ask(served.gateway, GENERATIONS, order({ seed: 8 })));
    expect(other!.equals(behind[0]!)).to.equal(false);
  });

  it('are others each time where no seed was given', async () => {
    const one = readPictures(await ask(served.gateway, GENERATIONS, order({ seed: undefined })));
    const other = readPictures(await ask(served.gateway, GENERATIONS, order({ seed: undefined })));
    expect(other[0]!.equals(one[0]!)).to.equal(false);
  });

  it('come as many as were asked for', async () => {
    expect(readPictures(await ask(served.gateway, GENERATIONS, order({ n: 2 })))).to.have.length(2);
  });

  it('are behind links where no other form was asked for', async () => {
    const { status, body } = await ask(served.gateway, GENERATIONS, order({ response_format: undefined }));
    expect(status, JSON.stringify(body)).to.equal(200);
    const response = await fetch((body.data as { url: string }[])[0]!.url);
    expect(await describePicture(await response.arrayBuffer())).to.match(/^(png|jpeg) 64x64$/);
  });

  it('are made of other images as the engine itself does', async () => {
    const files: Files = [['image', picture]];
    const direct = readPictures(await sendForm(served.engine, EDITS, order(), files));
    const behind = readPictures(await sendForm(served.gateway, EDITS, order(), files));
    expect(behind[0]!.equals(direct[0]!)).to.equal(true);
  });

  it(
    maskField ? 'are made within a mask' : 'are made without a mask, which the engine does not read',
    async () => {
      const mask = await makeMask();
      const answer = await sendForm(served.gateway, EDITS, order(), [
        ['image', picture],
        ['mask', mask],
      ]);
      const [masked] = readPictures(answer);
      const [plain] = readPictures(await sendForm(served.gateway, EDITS, order(), [['image', picture]]));
      if (maskField === null) {
        expect(masked!.equals(plain!)).to.equal(true);
        return;
      }
      const [direct] = readPictures(
        await sendForm(served.engine, EDITS, order(), [
          ['image', picture],
          [maskField, mask],
        ]),
      );
      expect(masked!.equals(direct!)).to.equal(true);
      expect(masked!.equals(plain!)).to.equal(false);
    },
  );

  it(`have sides that are multiples of ${sideStep}, as the engine needs them`, async () => {
    const step = await ask(served.engine, GENERATIONS, order({ size: `${64 + MODEL_STEP}x64` }));
    const [picture] = readPictures(step);
    expect(await describePicture(picture!)).to.match(new RegExp(` ${64 + MODEL_STEP}x64$`));
    const between = await ask(served.engine, GENERATIONS, order({ size: `${64 + MODEL_STEP / 2}x64` }));
    // Or it generates the next smaller size that its model supports.
    if (between.status < 400) expect(await describePicture(readPictures(between)[0]!)).to.match(/ 64x64$/);
  });

  const refused: [string, Fields, string][] = [
    ['a size that it does not have', { size: '65x65' }, 'size'],
    ['guidance beyond its bounds', { guidance_scale: 1000 }, 'guidance_scale'],
  ];
  for (const [title, fields, param] of refused)
    it(`are refused before the engine is asked: ${title}`, async () => {
      const { status, body } = await ask(served.gateway, GENERATIONS, order(fields));
      expect(status).to.be.within(400, 422);
      expect(body.error).to.include({ param });
    });

  const untilAsked = () =>
    pollUntil(async () => (await served.countInFlight()) === 1, 'the engine to be asked');
  /** Ends when it is aborted. Throws if there is a response before. */
  const hold = async (signal: AbortSignal): Promise<void> => {
    const answer = await send(served.gateway, GENERATIONS, order(LONG), signal).catch(() => null);
    if (answer && !signal.aborted)
      throw new Error(`${answer.status} too early: ${(await answer.text()).slice(0, 300)}`);
  };

  it('leave the next client a free engine when one leaves', async () => {
    const leaving = new AbortController();
    const left = hold(leaving.signal);
    await Promise.race([untilAsked(), left]);
    leaving.abort();
    await left;
    const start = performance.now();
    readPictures(await ask(served.gateway, GENERATIONS, order()));
    tellMeasure('an image after a client left', `${((performance.now() - start) / 1000).toFixed(1)} s`);
  });

  it('are refused with 429 while the engine is busy for longer than a request may wait', async () => {
    await served.patch({ limits: { waitForSlot: '1s' } });
    const leaving = new AbortController();
    const busy = hold(leaving.signal);
    try {
      await Promise.race([untilAsked(), busy]);
      await pollUntil(
        async () => {
          const response = await send(served.gateway, GENERATIONS, order());
          const { error } = (await response.json()) as { error?: { code: string } };
          if (response.status === 200) return false;
          expect([response.status, error!.code]).to.deep.equal([429, 'replica_saturated']);
          expect(Number(response.headers.get('retry-after'))).to.be.at.least(1);
          return true;
        },
        'a refusal',
        60_000,
      );
    } finally {
      leaving.abort();
      await busy;
      await served.patch({ limits: { waitForSlot: '120s' } });
    }
  });

  it('adds little to the time that the engine takes', async () => {
    const { direct, gateway } = await addedLatency(served, GENERATIONS, order());
    tellMeasure('added latency', `${(gateway - direct).toFixed(1)} ms to ${direct.toFixed(1)} ms`);
    expect(gateway / direct).to.be.below(2);
  });

  const untilServes = async (before: number) => {
    await pollUntil(async () => (await served.restarts()) > before, 'a restart', RESTART_TIMEOUT_MS);
    await served.untilReady();
    readPictures(await ask(served.gateway, GENERATIONS, order()));
  };
  for (const [title, signal, pattern] of [
    ['killed', 'SIGKILL', engine.worker],
    ['told to stop', 'SIGTERM', undefined],
  ] as const)
    it(`fail with an error when the engine is ${title}, which is then started again`, async () => {
      const before = await served.restarts();
      const asked = ask(served.gateway, GENERATIONS, order(LONG));
      await untilAsked();
      served.signal(signal, pattern);
      const { status, body } = await asked;
      // A stopping engine may complete an image that is nearly done, or be silent until it is killed.
      if (status === 200) expect(signal).to.equal('SIGTERM');
      else {
        expect(status, JSON.stringify(body)).to.be.oneOf(signal === 'SIGTERM' ? [502, 503, 504] : [502, 503]);
        expect(body.error).to.include.keys('message', 'type', 'param', 'code');
      }
      await untilServes(before);
    });
});

/** White where the image may change, and nothing elsewhere. */
const makeMask = (): Promise<Buffer> => makePicture(64, 64, 1);
