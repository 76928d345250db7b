import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { FieldReader } from '../../../../gateway/media/field-reader.ts';
import { readImageParameters } from '../../../../gateway/media/image-parameters.ts';
import { describeModel } from '../../../support/model-replica.ts';

const steps = { min: 4, max: 50, default: 20 };

describe('image parameters', () => {
  const model = (image: object = {}) => describeModel({ kind: 'Image', image });
  const read = (change: object, config = model({ steps }), task: 'txt2img' | 'img2img' = 'txt2img') =>
    readImageParameters(FieldReader.ofJSON({ model: 'berth/chat', prompt: 'x', ...change }), task, config);
  const raise = (act: () => unknown): ApiError => {
    try {
      act();
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
    throw new Error('it was taken');
  };

  const clamped: [object, number][] = [
    [{}, 20],
    [{ steps: null }, 20],
    [{ steps: 30 }, 30],
    [{ steps: 4 }, 4],
    [{ steps: 50 }, 50],
    [{ steps: 1 }, 4],
    [{ steps: 0 }, 4],
    [{ steps: -100 }, 4],
    [{ steps: 51 }, 50],
    [{ steps: 1e15 }, 50],
    [{ num_inference_steps: 30 }, 30],
    [{ steps: 10, num_inference_steps: 30 }, 10],
  ];
  for (const [change, expected] of clamped)
    it(`makes ${expected} steps of ${JSON.stringify(change)}`, () => {
      expect(read(change).parameters.steps).to.equal(expected);
    });

  const hints: [object, string][] = [
    [{ model: null }, '"berth/chat", the model of this deployment'],
    [{ model: 5 }, '"berth/chat", the model of this deployment'],
    [{ size: 1024 }, 'one of 1024x1024'],
  ];
  for (const [change, hint] of hints)
    it(`rejects ${JSON.stringify(change)} with what is possible`, () => {
      expect(raise(() => read(change)).message).to.contain(hint);
    });

  it('leaves the steps to the engine where the model gives no range', () => {
    expect(read({ steps: 5 }, model()).parameters).to.not.have.property('steps');
  });

  it('applies what the model lists, and nothing else', () => {
    const all = { negative_prompt: 'fog', seed: -1, guidance_scale: 0, steps: 9 };
    expect(read(all).parameters).to.deep.equal({
      task: 'txt2img',
      prompt: 'x',
      n: 1,
      size: '1024x1024',
      negativePrompt: 'fog',
      seed: -1,
      steps: 9,
      guidanceScale: 0,
    });
    expect(read(all, model({ steps, parameters: ['seed'] })).parameters).to.deep.equal({
      task: 'txt2img',
      prompt: 'x',
      n: 1,
      size: '1024x1024',
      seed: -1,
    });
  });

  const sizes: [string[], string][] = [
    [['512x512', '1024x1024'], '1024x1024'],
    [['768x768', '512x512'], '768x768'],
  ];
  for (const [supported, expected] of sizes)
    it(`makes ${expected} where no size is given and ${supported} are supported`, () => {
      expect(read({}, model({ sizes: supported })).parameters.size).to.equal(expected);
    });

  it('lists the supported sizes by width and height, however they are configured', () => {
    const config = model({ sizes: ['1024x512', '96x96', '512x1024', '512x512'] });
    expect(raise(() => read({ size: '1x1' }, config)).message).to.contain(
      '96x96, 512x512, 512x1024, 1024x512',
    );
  });

  it('counts characters of a prompt, not code units', () => {
    const config = model();
    config.limits = { ...config.limits, promptCharacters: 3 };
    expect(read({ prompt: '🚢🚢🚢' }, config).parameters.prompt).to.equal('🚢🚢🚢');
    expect(raise(() => read({ prompt: '🚢🚢🚢🚢' }, config)).code).to.equal('request_too_large');
  });

  it('mends half a surrogate pair, which no engine could be sent', () => {
    expect(read({ prompt: 'a\ud83d' }).parameters.prompt).to.equal('a\ufffd');
  });

  it('takes n up to the limit of the deployment', () => {
    const config = model();
    config.limits = { ...config.limits, imagesPerRequest: 2 };
    expect(read({ n: 2 }, config).parameters.n).to.equal(2);
    expect(raise(() => read({ n: 3 }, config)).message).to.contain('from 1 to 2');
  });

  it('sends models of one task to the route of the other', () => {
    const onlyEdits = model({ tasks: ['img2img'] });
    expect(raise(() => read({}, onlyEdits)).message).to.contain('/v1/images/edits');
    expect(raise(() => read({}, model(), 'img2img')).message).to.contain('/v1/images/generations');
  });

  const order: [string, object, string][] = [
    ['a wrong type before another model', { model: 'x', n: 'y' }, 'n'],
    ['another model before a wrong value', { model: 'x', size: '1x1' }, 'model'],
  ];
  for (const [what, change, param] of order)
    it(`names ${what}`, () => {
      expect(raise(() => read(change)).details.param).to.equal(param);
    });
});
