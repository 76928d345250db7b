/** Lines that a batch writes, as OpenAI's have them. Pure. */
import { randomBytes } from 'node:crypto';
import { describeReceipt } from '../account/account.ts';
import type { LineAnswer } from './line-runner.ts';

/** Why a line was not run. */
export const UNRUN = {
  cancelled: { code: 'batch_cancelled', message: 'The batch was cancelled before this line was run.' },
  expired: {
    code: 'batch_expired',
    message: 'The window of the batch ended before this line was run: it was not charged.',
  },
} as const;

const newId = (): string => `batch_req_${randomBytes(12).toString('hex')}`;

/** `body` is JSON of an engine or of the gateway, whose line breaks are spaces between values. */
export function formatAnswer(customId: string, { status, requestId, body, bill }: LineAnswer): string {
  const receipt = bill && describeReceipt(bill);
  const head = JSON.stringify({ status_code: status, request_id: requestId, receipt });
  const text = body.trim() === '' ? 'null' : body.replace(/[\r\n]+/g, ' ');
  return `{"id":"${newId()}","custom_id":${JSON.stringify(customId)},"response":${head.slice(0, -1)},"body":${text}},"error":null}`;
}

export const formatFault = (customId: string, error: { code: string; message: string }): string =>
  JSON.stringify({
    id: newId(),
    custom_id: customId,
    response: null,
    error: { code: error.code, message: error.message },
  });
