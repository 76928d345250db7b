/** Records what the engine answers to the corpus. The simulator repeats it, and Git shows what an upgrade changes. */
import { expect } from 'chai';
import { readEngine } from './catalog.ts';
import { type CorpusRequest, readCorpus } from './corpus.ts';
import {
  type RecordedAnswer,
  readRecording,
  sendRequest,
  shapeAnswer,
  writeRecording,
} from './recorded-answers.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const KINDS = ['LLM', 'Embedding', 'Rerank'] as const;
const listRequests = (model: string): CorpusRequest[] =>
  readCorpus(name, { id: model, context: engine.context! });

describe(`answers of ${name} to the corpus`, () => {
  const answers: Record<string, RecordedAnswer> = {};

  for (const kind of KINDS)
    describe(`of a model of the kind ${kind}`, () => {
      let served: ServedModel;
      before(async function () {
        this.timeout(660_000);
        served = await serveModel(name, { kind });
      });
      after(() => served?.stop());

      for (const { title } of listRequests('').filter((request) => request.kind === kind))
        it(`are recorded: ${title}`, async () => {
          const { baseURL, model } = served.engine;
          const request = listRequests(model).find((each) => each.title === title)!;
          const raw = await sendRequest(new URL('/', baseURL).origin, request);
          expect(raw.status).to.be.within(200, 599);
          answers[title] = shapeAnswer(raw, { model, values: request.values });
        });
    });

  after(() => {
    // In the order of the corpus, and only if nothing is missing.
    const titles = listRequests('').map(({ title }) => title);
    if (!titles.every((title) => title in answers)) return;
    // An older engine does not replace what a newer one answered.
    if (engine.version.localeCompare(readRecording(name).version, 'en', { numeric: true }) < 0) return;
    const ordered = titles.map((title) => [title, answers[title]!]);
    writeRecording(name, { version: engine.version, answers: Object.fromEntries(ordered) });
  });
});
