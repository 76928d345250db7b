/** The simulator answers as the engine that it poses as: compared with what real engines answered (test/engines/recordings/). */
import { expect } from 'chai';
import { readCorpus } from '../../engines/corpus.ts';
import { readRecording, sendRequest, shapeAnswer } from '../../engines/recorded-answers.ts';
import { compareAnswers, type Difference } from './recorded-comparison.ts';
import { KnownDifferences } from './recorded-differences.ts';
import { MODEL, RunningSimulator } from './running-simulator.ts';

/** Lengths of the contexts that the engines were recorded with. */
const ENGINES = { vllm: 8192, 'llama-cpp': 2048 } as const;
const KINDS = ['LLM', 'Embedding', 'Rerank'] as const;

const describeDifference = ({ at, recorded, simulated }: Difference): string =>
  `${at}: ${JSON.stringify(recorded)} recorded, ${JSON.stringify(simulated)} simulated`;

for (const [engine, contextTokens] of Object.entries(ENGINES) as [keyof typeof ENGINES, number][])
  describe(`a simulator like ${engine}`, () => {
    const { answers } = readRecording(engine);
    const corpus = readCorpus(engine, { id: MODEL, context: contextTokens });
    const known = new KnownDifferences(engine);

    it('has a recorded answer to every request of the corpus, and no other', () => {
      expect(corpus.map(({ title }) => title).sort()).to.deep.equal(Object.keys(answers).sort());
    });

    for (const kind of KINDS)
      describe(`with a model of the kind ${kind}`, () => {
        let simulator: RunningSimulator;
        before(async () => {
          simulator = await RunningSimulator.start({
            kind,
            settings: { like: engine, contextTokens, tokens: 200 },
          });
        });
        after(() => simulator.stop());

        for (const request of corpus.filter((each) => each.kind === kind))
          it(`answers as recorded: ${request.title}`, async () => {
            const raw = await sendRequest(simulator.url, request);
            const answer = shapeAnswer(raw, { model: MODEL, values: request.values });
            const differences = compareAnswers(answers[request.title]!, answer);
            const unlisted = differences.filter(({ at }) => !known.includes(request.title, at));
            expect(unlisted.map(describeDifference).join('\n')).to.equal('');
          });
      });

    // Behind the others, which note what they see.
    describe('with all its models', () => {
      it('has no difference listed that is gone', () => {
        expect(known.listGone()).to.deep.equal([]);
      });
    });
  });
