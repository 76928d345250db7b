/** Event streams as an independent parser of the standard reads them. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';

export interface ParsedStream {
  events: EventSourceMessage[];
  comments: string[];
}

export function parseStream(text: string): ParsedStream {
  const stream: ParsedStream = { events: [], comments: [] };
  const parser = createParser({
    onEvent: (event) => stream.events.push(event),
    onComment: (comment) => stream.comments.push(comment),
  });
  parser.feed(text);
  return stream;
}
