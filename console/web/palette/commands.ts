/** What the palette leads to, and what of it a text finds. Pure. */

export interface Command {
  group: 'Actions' | 'Pages' | 'Deployments' | 'API keys' | 'Webhook endpoints' | 'IDs';
  label: string;
  /** Where it leads, with its query. */
  path: string;
}

/** The ID of a request, an event or a delivery; null for other texts. */
export const readId = (text: string): string | null =>
  /^\s*((?:req|evt|dlv)_\w{1,60})\s*$/.exec(text)?.[1] ?? null;

/** Those of one group that match best; more words find the others. */
const MAX_OF_GROUP = 8;

/** Best groups first, the best of each first. Every word of the text must be in the label. */
export function findCommands(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands
    .map((command) => ({ command, distance: measure(command.label.toLowerCase(), words) }))
    .filter(({ distance }) => distance < Infinity)
    .sort((one, other) => one.distance - other.distance);
  return [...Map.groupBy(found, ({ command }) => command.group).values()].flatMap((group) =>
    group.slice(0, MAX_OF_GROUP).map(({ command }) => command),
  );
}

/** 0 where the label is the text; Infinity where a word is missing. */
function measure(label: string, words: readonly string[]): number {
  const [first] = words;
  if (first === undefined) return 1;
  if (!words.every((word) => label.includes(word))) return Infinity;
  if (label === words.join(' ')) return 0;
  if (label.startsWith(first)) return 1;
  return label.split(/[\s.-]/).some((part) => part.startsWith(first)) ? 2 : 3;
}
