import { Pool } from 'undici';
import { connectHTTP1 } from '../../kit/http1.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';

/** Undici with the limits of Http1Client. */
export const openUndici = (origin: string): Pool =>
  new Pool(origin, {
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 512 * 1024,
    connect: connectHTTP1({ timeout: 10_000 }),
  }).compose(joinAnswers) as Pool;
