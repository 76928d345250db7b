/** Streams of named events, as an engine writes them and a client reads them. */

type Fields = Record<string, unknown>;

export interface NamedEvent extends Fields {
  type: string;
  response?: Fields;
  item?: Fields;
}

export const writeEvents = (events: readonly NamedEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** `text`: one character per byte. */
export const readEvents = (text: string): NamedEvent[] =>
  Buffer.from(text, 'latin1')
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
