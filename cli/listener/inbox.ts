/** Deliveries for a developer: each is printed, forwarded to their own program, and kept for replay. */
import { escapeControls } from '../framework/output.ts';

export interface Delivery {
  headers: Record<string, string>;
  body: Buffer;
}

/** `fact`: what the line says, for JSON; other lines have none. */
export type Print = (line: string, fact?: object) => void;

export interface InboxOptions {
  /** null: deliveries are only shown, and get a 200. */
  target: string | null;
  print: Print;
  now: () => Date;
}

export interface Inbox {
  /** Resolves with the target's status. `note`: printed beside the event's type. */
  take(delivery: Delivery, note?: string): Promise<number>;
  /** Forwards a delivery again, unchanged; the latest if no number is given. */
  replay(number?: number): Promise<void>;
}

const MAX_KEPT = 100;
/** Berth's timeout for receivers. */
const FORWARD_TIMEOUT_MS = 5_000;

export function createInbox({ target, print, now }: InboxOptions): Inbox {
  const kept: (Delivery & { number: number })[] = [];
  let count = 0;
  return {
    take: async ({ headers, body }, note = '') => {
      const delivery = { number: ++count, headers, body };
      kept.push(delivery);
      if (kept.length > MAX_KEPT) kept.shift();
      const { 'x-service-event': event = 'unknown' } = headers;
      const time = now().toISOString();
      print(`${time}  #${delivery.number}  ${toWord(event)}${note && `  ${toWord(note)}`}`, {
        delivery: delivery.number,
        time,
        event,
        note,
        headers,
        body: body.toString('utf8'),
      });
      for (const line of formatBody(body)) print(`  ${line}`);
      return target === null ? 200 : forward(delivery, target, print);
    },
    replay: async (number = count) => {
      const delivery = kept.find((each) => each.number === number);
      if (!delivery)
        print(kept.length === 0 ? 'Nothing has been delivered yet.' : `#${number} is no longer kept.`);
      else if (target === null)
        print('Nothing to forward to: start it with a URL such as http://localhost:3000/hook.');
      else {
        print(`${now().toISOString()}  #${number}  replayed`);
        await forward(delivery, target, print);
      }
    },
  };
}

async function forward(
  { number, headers, body }: Delivery & { number: number },
  target: string,
  print: Print,
): Promise<number> {
  const startedAt = performance.now();
  const spent = () => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    await response.body?.cancel();
    const { status } = response;
    const ms = spent();
    print(`  → ${target} answered ${status} in ${ms} ms`, { forwarded: number, target, status, ms });
    return status;
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    const reason = cause?.message ?? message;
    const ms = spent();
    print(`  → ${target} did not respond: ${toWord(reason)} (${ms} ms)`, {
      forwarded: number,
      target,
      error: reason,
      ms,
    });
    return 502;
  }
}

function formatBody(body: Buffer): string[] {
  const text = body.toString('utf8');
  try {
    return escapeControls(JSON.stringify(JSON.parse(text), null, 2)).split('\n');
  } catch {
    return [escapeControls(JSON.stringify(text))];
  }
}

/** A word of somebody else's within a line: ASCII alone, without line feeds. */
export const toWord = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?');
