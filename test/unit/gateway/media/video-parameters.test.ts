import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { FieldReader } from '../../../../gateway/media/field-reader.ts';
import {
  readVideoFormParameters,
  readVideoGenerationParameters,
  snapFrames,
  snapSize,
} from '../../../../gateway/media/video-parameters.ts';
import { describeModel } from '../../../support/model-replica.ts';

const resolutions = ['1280x720', '480x832', '720x1280', '96x96'];
const describeVideo = (video: object) => describeModel({ kind: 'Video', video: { resolutions, ...video } });

describe('video parameters', () => {
  const free = describeVideo({});
  const pinned = describeVideo({ native: { seconds: 5.1, fps: 16 } });

  const generate = (change: object = {}, config = free) =>
    readVideoGenerationParameters(
      FieldReader.ofJSON({ model: 'berth/chat', prompt: 'x', ...change }),
      config,
    );
  const form = (change: object = {}, config = free) =>
    readVideoFormParameters(
      FieldReader.ofForm(
        new Map(
          Object.entries({ model: 'berth/chat', prompt: 'x', seconds: '5', size: '480x832', ...change }),
        ),
      ),
      false,
      config,
    );
  function refuse(act: () => unknown): string {
    try {
      act();
    } catch (error) {
      if (error instanceof ApiError) return `${error.status} ${error.code}`;
      throw error;
    }
    return 'taken';
  }

  const frames: [number, number][] = [
    [0.1, 5],
    [1, 5],
    [5, 5],
    [6.9, 5],
    [7, 9],
    [8, 9],
    [9, 9],
    [10.9, 9],
    [11, 13],
    [80, 81],
    [81, 81],
    [82.9, 81],
    [83, 85],
    [120, 121],
    [14_400, 14_401],
  ];
  for (const [asked, expected] of frames)
    it(`makes ${expected} frames where ${asked} are asked for`, () => {
      expect(snapFrames(asked)).to.equal(expected);
    });

  const sizes: [string, string][] = [
    ['720x1280', '704x1280'],
    ['704x1280', '704x1280'],
    ['31x63', '32x32'],
    ['10x10', '32x32'],
    ['99999x33', '99968x32'],
  ];
  for (const [asked, expected] of sizes)
    it(`lets ${asked} fall to ${expected}`, () => {
      expect(snapSize(asked)).to.equal(expected);
    });

  const durations: [string, string][] = [
    ['5.1', 'taken'],
    ['4.6', 'taken'],
    ['5.6', 'taken'],
    ['4.59', '422 duration_mismatch'],
    ['5.61', '422 duration_mismatch'],
    ['0.001', '422 duration_mismatch'],
    ['1e9', '422 duration_mismatch'],
    ['0', '422 duration_mismatch'],
    ['-5.1', '422 duration_mismatch'],
  ];
  for (const [seconds, expected] of durations)
    it(`judges ${seconds} s of a model of 5.1 s: ${expected}`, () => {
      expect(refuse(() => form({ seconds }, pinned))).to.equal(expected);
      expect(refuse(() => generate({ duration: Number(seconds) }, pinned))).to.equal(expected);
    });

  it('takes half a second for half a second, though 1.1 - 0.6 is more in binary', () => {
    const model = describeVideo({ native: { seconds: 1.1, fps: 16 } });
    expect(refuse(() => form({ seconds: '0.6' }, model))).to.equal('taken');
  });

  const rates: [unknown, string][] = [
    [16, 'taken'],
    [24, '422 fps_mismatch'],
    [15, '422 fps_mismatch'],
    [0, '422 fps_mismatch'],
    [16.5, '400 invalid_type'],
    ['16', '400 invalid_type'],
  ];
  for (const [fps, expected] of rates)
    it(`judges fps ${JSON.stringify(fps)} of a model of 16: ${expected}`, () => {
      expect(refuse(() => generate({ fps }, pinned))).to.equal(expected);
    });

  it('checks a pinned frame rate even where the model lists no fps', () => {
    const model = describeVideo({ native: { seconds: 5, fps: 16 }, parameters: [] });
    expect(refuse(() => generate({ fps: 24 }, model))).to.equal('422 fps_mismatch');
  });

  const hints: [object, string][] = [
    [{ model: undefined }, 'berth/chat'],
    [{ model: 5 }, 'berth/chat'],
    [{ resolution: 720 }, '96x96, 480x832, 720x1280, 1280x720'],
    [{ duration: 'long' }, 'within 0.5 s of 5.1'],
    [{ fps: 'fast' }, '16, the only frame rate'],
  ];
  for (const [change, hint] of hints)
    it(`rejects ${JSON.stringify(change)} with what is possible`, () => {
      expect(() => generate(change, pinned)).to.throw(ApiError, hint);
    });

  it('gives a pinned model its own clip, and reports its duration', () => {
    expect(generate({ duration: 5.5 }, pinned)).to.deep.equal({
      parameters: { task: 't2v', prompt: 'x', size: '720x1280', frames: 82, fps: 16 },
      seconds: '5.125',
      askedSeconds: 5.1,
    });
  });

  it('reads over the fps that a free model does not list', () => {
    const model = describeVideo({ parameters: [] });
    expect(generate({ fps: 'fast', seed: {} }, model).parameters).to.include({ fps: 24, frames: 121 });
  });

  it('falls back to the first resolution where the usual one is not supported', () => {
    const { parameters } = generate({}, describeModel({ kind: 'Video', video: { resolutions: ['96x64'] } }));
    expect(parameters.size).to.equal('96x64');
  });

  it('keeps the size of the form as it is, though the JSON route snaps it', () => {
    expect(form({ size: '720x1280' }).parameters.size).to.equal('720x1280');
    expect(generate({ resolution: '720x1280' }).parameters.size).to.equal('704x1280');
    expect(generate({ resolution: '720x1280' }, pinned).parameters.size).to.equal('720x1280');
  });

  it('takes only what the model lists, before it snaps', () => {
    expect(refuse(() => generate({ resolution: '704x1280' }))).to.equal('422 resolution_not_supported');
  });

  const spelled: [string, string, number][] = [
    ['4', '4.042', 97],
    ['4.0', '4.042', 97],
    ['5.50', '5.542', 133],
    [' 2 ', '2.042', 49],
    ['.25', '0.208', 5],
    ['0.01', '0.208', 5],
    ['1e1', '10.042', 241],
  ];
  for (const [given, seconds, count] of spelled)
    it(`says that "${given}" gives ${seconds} s`, () => {
      const request = form({ seconds: given });
      expect([request.seconds, request.parameters.frames]).to.deep.equal([seconds, count]);
    });

  it('bounds the duration of a free model', () => {
    expect(refuse(() => generate({ duration: 600 }))).to.equal('taken');
    expect(refuse(() => generate({ duration: 600.1 }))).to.equal('400 decimal_above_max_value');
  });
});
