import { expect } from 'chai';
import type { Settings } from '../../../simulator/settings.ts';
import { ENDING_LENGTH, judgeEnding } from '../../bench/stream-ending.ts';
import { chatOf, RunningSimulator } from '../simulator/running-simulator.ts';

const frame = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const finish = (reason: string | null) => frame({ choices: [{ delta: {}, finish_reason: reason }] });
const DONE = frame('[DONE]');
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('the ending of a streamed chat', () => {
  for (const [what, text, ending] of [
    ['with a finish reason and [DONE]', finish('stop') + DONE, 'whole'],
    ['in chunks', `${[finish('length'), DONE].map(chunk).join('')}0\r\n\r\n`, 'whole'],
    ['without [DONE]', finish('stop'), 'cut'],
    ['with [DONE], but without a finish reason', finish(null) + DONE, 'cut'],
    ['in the middle of a frame', finish('stop') + DONE.slice(0, -8), 'cut'],
    ['with an abort', finish('abort') + DONE, 'aborted'],
    ['with an error, then [DONE]', frame({ error: { message: 'x' } }) + DONE, 'error'],
    ['with an error after the finish reason', finish('stop') + frame({ error: {} }) + DONE, 'error'],
    ['with a flat error', frame({ object: 'error', message: 'x' }) + DONE, 'error'],
    ['with a named error', `event: error\n${frame({ type: 'error' })}`, 'error'],
    ['with nothing', '', 'cut'],
  ] as const)
    it(`is ${ending} ${what}`, () => {
      expect(judgeEnding(text)).to.equal(ending);
    });

  it('is not read from what the model says', () => {
    const content = 'data: {"error": 1} "finish_reason": "abort"';
    const said = frame({ choices: [{ delta: { content }, finish_reason: null }] });
    expect(judgeEnding(said + finish('stop') + DONE)).to.equal('whole');
  });

  describe('of an engine', () => {
    let simulator: RunningSimulator;
    before(async () => {
      simulator = await RunningSimulator.start();
    });
    after(() => simulator.stop());

    for (const [fault, ending] of [
      [null, 'whole'],
      [{ kind: 'abort', afterFrames: 3 }, 'aborted'],
      [{ kind: 'error-frame', afterFrames: 3, shape: 'flat' }, 'error'],
      [{ kind: 'end', afterFrames: 3 }, 'cut'],
    ] satisfies [Settings['fault'], string][])
      it(`is ${ending} with the fault ${fault?.kind}`, async () => {
        await simulator.putControl({ fault });
        const response = await simulator.post('/v1/chat/completions', chatOf('Hi', { stream: true }));
        expect(judgeEnding((await response.text()).slice(-ENDING_LENGTH))).to.equal(ending);
      });
  });
});
