/** The gateway adds to an engine, and takes nothing away: a client gets the same answers from both. */
import { expect } from 'chai';
import { ask, strip } from './answers.ts';
import { readEngine } from './catalog.ts';
import { CHAT_KINDS, COMPLETION_KINDS, REFUSED, type RequestKind, TOO_LONG } from './request-kinds.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const isFor = ({ only }: RequestKind): boolean => only?.includes(name) ?? true;
const CHAT = '/chat/completions';
const SENTENCE = 'the quick fox and the lazy dog ';

describe(`text of ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name);
  });
  after(() => served?.stop());

  for (const [path, kinds] of [
    [CHAT, CHAT_KINDS],
    ['/completions', COMPLETION_KINDS],
  ] as const)
    for (const { title, body, isWholeOnly } of kinds.filter(isFor))
      for (const stream of isWholeOnly ? [false] : [false, true])
        it(`is as the engine itself answers ${path}, ${stream ? 'streamed' : 'whole'}: ${title}`, async () => {
          const request = stream ? { ...body, stream, stream_options: { include_usage: true } } : body;
          const direct = await ask(served.engine, path, request);
          expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
          expect(strip(await ask(served.gateway, path, request))).to.deep.equal(strip(direct));
        });

  for (const { title, body } of REFUSED.filter(isFor))
    it(`is refused as by the engine itself, in the endpoint's own form: ${title}`, async () => {
      const direct = await ask(served.engine, CHAT, body);
      const { status, body: answer } = await ask(served.gateway, CHAT, body);
      expect([direct.status, status]).to.deep.equal([400, 400]);
      const { error } = answer as { error: Record<string, unknown> };
      expect(error).to.include({ type: 'invalid_request_error' });
      expect(error).to.include.keys('message', 'type', 'param', 'code');
      expect(error.message).to.be.a('string').that.is.not.empty;
    });

  for (const stream of [false, true])
    it(`is as the engine itself answers a prompt of three quarters of the context, ${stream ? 'streamed' : 'whole'}`, async () => {
      const count = async (times: number) => {
        const { status, body } = await ask(served.gateway, '/../tokenize', {
          prompt: SENTENCE.repeat(times),
        });
        expect(status, JSON.stringify(body)).to.equal(200);
        return body.count as number;
      };
      const times = Math.floor((0.75 * engine.context!) / ((await count(20)) / 20));
      const request = {
        ...CHAT_KINDS[0]!.body,
        messages: [{ role: 'user', content: SENTENCE.repeat(times) }],
        max_tokens: 8,
        ...(stream && { stream, stream_options: { include_usage: true } }),
      };
      const direct = await ask(served.engine, CHAT, request);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      const { prompt_tokens: tokens } = direct.body.usage as { prompt_tokens: number };
      expect(tokens / engine.context!).to.be.within(0.7, 0.85);
      expect(strip(await ask(served.gateway, CHAT, request))).to.deep.equal(strip(direct));
    });

  it('tells that a prompt is longer than the context', async () => {
    const { status, body } = await ask(served.gateway, CHAT, TOO_LONG);
    expect([status, (body.error as { code: string }).code]).to.deep.equal([400, 'context_length_exceeded']);
  });

  it('streams without usage to a client that has not asked for it', async () => {
    const { body, isWhole } = await ask(served.gateway, CHAT, { ...CHAT_KINDS[0]!.body, stream: true });
    expect([body.usage ?? null, isWhole]).to.deep.equal([null, true]);
  });
});
