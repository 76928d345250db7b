/** A client gets the same responses from the gateway as from the engine. */
import { expect } from 'chai';
import { type Answer, ask, type Fields, strip } from './answers.ts';
import { readEngine } from './catalog.ts';
import { CHAT_KINDS, COMPLETION_KINDS, REFUSED, type RequestKind, TOO_LONG } from './request-kinds.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const isFor = ({ only }: RequestKind): boolean => only?.includes(name) ?? true;
const CHAT = '/chat/completions';
/** The engine's own name for its model, which is hidden from clients. */
const ENGINE_MODEL = 'the-engines-own-name';
const SENTENCE = 'the quick fox and the lazy dog ';

/** Except for the name of the model, which differs. */
function expectSame(answer: Answer, direct: Answer): void {
  const withoutName = ({ status, isWhole, body }: Answer) => strip({ status, isWhole, ...body, model: null });
  expect(withoutName(answer)).to.deep.equal(withoutName(direct));
}

describe(`text of ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name, { engine: { servedModelName: ENGINE_MODEL } });
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
          const answer = await ask(served.gateway, path, request);
          expect([direct.body.model, answer.body.model]).to.deep.equal([ENGINE_MODEL, served.gateway.model]);
          expectSame(answer, direct);
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
      expect(JSON.stringify(answer)).to.not.include(ENGINE_MODEL);
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
      expectSame(await ask(served.gateway, CHAT, request), direct);
    });

  it('tells that a prompt is longer than the context', async () => {
    const { status, body } = await ask(served.gateway, CHAT, TOO_LONG);
    expect([status, (body.error as { code: string }).code]).to.deep.equal([400, 'context_length_exceeded']);
    expect(JSON.stringify(body)).to.not.include(ENGINE_MODEL);
  });

  it('is told with the length of its context, as the engine has it', async () => {
    const { baseURL, key } = served.gateway;
    const response = await fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: Fields[] };
    expect(data).to.have.length(1);
    expect(data[0]).to.include({ id: served.gateway.model, max_model_len: engine.context });
  });

  it('streams without usage to a client that has not asked for it', async () => {
    const { body, isWhole } = await ask(served.gateway, CHAT, { ...CHAT_KINDS[0]!.body, stream: true });
    expect([body.usage ?? null, isWhole]).to.deep.equal([null, true]);
  });
});
