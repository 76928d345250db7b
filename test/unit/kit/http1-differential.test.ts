/** Random answers of an engine in random pieces: the engine's client reads of each what undici reads, or fails where it fails. */
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import type { Dispatcher, Pool } from 'undici';
import { readConnectionFailure } from '../../../kit/connection-error.ts';
import { Http1Client } from '../../../kit/http1-client.ts';
import { joinAnswers } from '../../../kit/joined-answers.ts';
import { KeptBody, toDispatchBody } from '../../../kit/kept-body.ts';
import { type RandomAnswer, writeAnswer } from '../../support/random-answers.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';
import { type ScriptedEngine, startScriptedEngine } from '../../support/scripted-engine.ts';
import { openUndici } from '../../support/undici-pool.ts';

/** For each seed. */
const ANSWERS = Number(process.env.STEPS ?? 100);
const AT_ONCE = 20;

const UPLOAD = new KeptBody(async function* () {
  for (let piece = 0; piece < 3; piece++) yield setImmediate(Buffer.alloc(64 * 1024, 'u'));
});
const BODIES = { none: null, small: Buffer.from('{"a":1}'), upload: toDispatchBody(UPLOAD) };

interface Reading {
  status: number;
  headers: unknown;
  body: string;
  trailers: unknown;
  failure: string | null;
}

function read(by: Dispatcher, { method, body, id }: RandomAnswer): Promise<Reading> {
  const reading: Reading = { status: 0, headers: {}, body: '', trailers: {}, failure: null };
  return new Promise((resolve) =>
    by.dispatch(
      { path: `/${id}`, method, body: BODIES[body], headersTimeout: 20_000, bodyTimeout: 20_000 },
      {
        onResponseStart: (_, status, headers) => {
          if (status >= 200) Object.assign(reading, { status, headers: trimAll(headers) });
        },
        onResponseData: (_, piece) => {
          reading.body += piece.toString('latin1');
        },
        onResponseEnd: (_, trailers) => resolve({ ...reading, trailers: trimAll(trailers) }),
        onResponseError: (_, error) =>
          resolve({ ...reading, failure: readConnectionFailure(error) ?? 'other' }),
      },
    ),
  );
}

/** Undici leaves blanks that follow a value. */
const trimAll = (headers: IncomingHttpHeaders) =>
  Object.entries(headers).map(([name, values]) => [
    name,
    [values].flat().map((value) => value?.replace(/[ \t]+$/, '')),
  ]);

/** Why it differs from undici on purpose; undefined: for no reason. */
function explain(own: Reading, other: Reading, wire: string): string | undefined {
  if (own.failure === 'lost' && other.failure === 'other')
    return 'reports a lost connection where an answer ends too early, whatever it has said about closing';
  const encodings = [...wire.matchAll(/^transfer-encoding:[\t ]*(.*)\r$/gim)].map(([, value]) => value);
  const isPlain = encodings.join().toLowerCase() === 'chunked' && !/^HTTP\/1\.0/m.test(wire);
  if (own.failure === 'other' && encodings.length > 0 && !isPlain)
    return 'refuses encodings beside chunks, and chunks in HTTP/1.0';
  if (own.failure === 'other' && /^HTTP\/1\.[01] \d{3}.*[\0\x7f]/m.test(wire))
    return 'refuses a reason with a control character';
  if (own.failure === 'other' && /(^|\r\n\r\n)[\r\n]+(HTTP|$)/.test(wire))
    return 'refuses line ends before a status line';
  if (other.failure === 'other' && /^[\da-f]+[\t ]*;/im.test(wire))
    return 'ignores what extensions of chunks contain';
  return undefined;
}

describe('a client of the engine, beside undici', () => {
  let engine: ScriptedEngine;
  let undici: Pool;
  let client: Http1Client;
  beforeEach(async () => {
    engine = await startScriptedEngine();
    undici = openUndici(engine.origin);
    client = new Http1Client(engine.origin);
  });
  afterEach(async () => {
    await Promise.all([undici.destroy(), client.destroy()]);
    await engine.stop();
  });

  for (const seed of listSeeds())
    it(`reads the same of random answers, with seed ${seed}`, async () => {
      const random = seedRandom(seed);
      const own = client.compose(joinAnswers);
      const differences: string[] = [];
      let id = 0;
      const compare = async () => {
        while (id < ANSWERS) {
          const answer = writeAnswer(random, id++);
          engine.script(answer);
          const [ours, theirs] = [await read(own, answer), await read(undici, answer)];
          if (isDeepStrictEqual(ours, theirs)) continue;
          const reason = explain(ours, theirs, answer.wire);
          if (!reason) expect(ours, JSON.stringify(answer)).to.deep.equal(theirs);
          differences.push(reason!);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, compare));
      expect(differences.length, differences.join('\n')).to.be.below(0.1 * ANSWERS);
    });
});
