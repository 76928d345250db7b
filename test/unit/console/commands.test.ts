import { expect } from 'chai';
import { type Command, findCommands, readId } from '../../../console/web/palette/commands.ts';

const page = (label: string): Command => ({ group: 'Pages', label, path: label });
const deployment = (label: string): Command => ({ group: 'Deployments', label, path: label });
const COMMANDS = [
  page('Deployments'),
  page('API keys'),
  { group: 'Actions', label: 'New API key', path: 'keys?new' } as const,
  deployment('chat-large'),
  deployment('chat'),
  deployment('my-chat'),
];
const find = (text: string) => findCommands(COMMANDS, text).map(({ label }) => label);

describe('the palette', () => {
  it('shows everything before anything is typed', () => {
    expect(find('  ')).to.deep.equal(COMMANDS.map(({ label }) => label));
  });

  it('finds what has every word, in any order and case', () => {
    expect(find('KEY new')).to.deep.equal(['New API key']);
    expect(find('key')).to.deep.equal(['API keys', 'New API key']);
    expect(find('nothing')).to.deep.equal([]);
  });

  it('puts the name itself first, then what begins with it', () => {
    expect(find('chat')).to.deep.equal(['chat', 'chat-large', 'my-chat']);
  });

  it('shows at most eight of a group, so that no namespace fills the screen', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => deployment(`chat-${index}`));
    expect(findCommands([...COMMANDS, ...many], 'chat')).to.have.length(8);
    expect(findCommands([...COMMANDS, ...many], 'chat-4999')[0]!.label).to.equal('chat-4999');
  });

  it('knows an ID that is pasted, also with blanks around it', () => {
    expect(readId(' req_0123abc\n')).to.equal('req_0123abc');
    expect(readId('evt_9')).to.equal('evt_9');
    expect(readId('my-req_1')).to.equal(null);
    expect(readId('req_1 req_2')).to.equal(null);
  });
});
