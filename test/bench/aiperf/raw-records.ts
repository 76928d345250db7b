/** The streams that aiperf received, as it exports them (`--export-level raw`), each a line of JSON. Pure. */
import { judgeEnding } from '../stream-ending.ts';

interface RawRecord {
  status: number | null;
  /** Events of the stream, each with its lines. */
  responses: { packets?: { name: string; value: string | null }[] }[];
}

/** How many were not whole. aiperf itself counts a stream as good that ends with an error, an abort or without [DONE]. */
export const countBroken = (text: string): number =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .filter((line) => !isWhole(JSON.parse(line) as RawRecord)).length;

const isWhole = ({ status, responses }: RawRecord): boolean =>
  status === 200 && judgeEnding(responses.map(writeEvent).join('')) === 'whole';

const writeEvent = ({ packets = [] }: RawRecord['responses'][number]): string =>
  `${packets.map(({ name, value }) => `${name}: ${value ?? ''}\n`).join('')}\n`;
