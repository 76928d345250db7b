/** Streams of named events, as clients of `/v1/responses` and `/v1/messages` read them. */

export interface StreamedEvent {
  name: string;
  data: Record<string, unknown>;
}

/** All events until the stream ends. */
export const readEvents = async (response: Response): Promise<StreamedEvent[]> =>
  parseEvents(await response.text());

export const parseEvents = (text: string): StreamedEvent[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const lines = frame.split('\n');
      const find = (field: string) => lines.find((line) => line.startsWith(field))?.slice(field.length) ?? '';
      return { name: find('event: '), data: JSON.parse(find('data: ')) };
    });
