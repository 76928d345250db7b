import { expect } from 'chai';
import { chooseVersion } from '../../../../gateway/traffic/assignment.ts';
import { readConversation } from '../../../../gateway/traffic/conversation.ts';

const KEY = 'key-1';
const user = (content: unknown) => ({ role: 'user', content });
const read = (body: object, key = KEY) => readConversation(body as Record<string, unknown>, key);

describe('what identifies a conversation', () => {
  const first = { messages: [{ role: 'system', content: 'Be brief.' }, user('Where is Bern?')] };

  it('stays the same as turns follow', () => {
    const later = {
      messages: [...first.messages, { role: 'assistant', content: 'In Switzerland.' }, user('And Basel?')],
    };
    expect(read(later)).to.equal(read(first)).and.not.equal(null);
  });

  it('does not depend on the system prompt, in which agents write the time', () => {
    expect(
      read({ messages: [{ role: 'system', content: 'It is 10:41.' }, user('Where is Bern?')] }),
    ).to.equal(read(first));
  });

  it('differs for another beginning, key, user or session', () => {
    const others = [
      read({ messages: [user('Where is Basel?')] }),
      read(first, 'key-2'),
      read({ ...first, user: 'ada' }),
      read({ ...first, safety_identifier: 'ada' }),
      read({ ...first, prompt_cache_key: 'session-1' }),
      read({ ...first, metadata: { user_id: 'ada' } }),
    ];
    expect(new Set([...others, read(first)])).to.have.lengthOf(others.length + 1);
  });

  it('is the same with and without the mark of a cached message, which moves on', () => {
    const text = { type: 'text', text: 'Where is Bern?' };
    const marked = { ...text, cache_control: { type: 'ephemeral' } };
    expect(read({ messages: [user([marked])] })).to.equal(read({ messages: [user([text])] }));
    // Agents write text as blocks only where they mark it.
    expect(read({ messages: [user([marked])] })).to.equal(read({ messages: [user('Where is Bern?')] }));
  });

  it('differs for another image', () => {
    const ask = (url: string) => [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ];
    expect(read({ messages: [user(ask('https://a.test/1'))] })).not.to.equal(
      read({ messages: [user(ask('https://a.test/2'))] }),
    );
  });

  it('is read of responses, prompts and queries', () => {
    expect(read({ input: [user('Hi'), { role: 'assistant', content: 'Hello' }, user('Bye')] })).to.equal(
      read({ input: [user('Hi')] }),
    );
    const prompt = 'x'.repeat(300);
    expect(read({ prompt: `${prompt} and more` })).to.equal(read({ prompt }));
    expect(read({ query: 'a', documents: ['b'] })).not.to.equal(read({ query: 'b', documents: ['b'] }));
  });

  it('is absent without text or name', () => {
    for (const body of [{}, { messages: [] }, { messages: null, input: null }, { tokens: [1, 2] }])
      expect(read(body)).to.equal(null);
  });

  it('never changes its version in 10,000 turns of a thousand conversations', () => {
    const shares = [
      { deployment: 'v2', weight: 30 },
      { deployment: 'v3', weight: 30 },
    ];
    const versions = new Set<string | null>();
    for (let conversation = 0; conversation < 1_000; conversation++) {
      const messages: object[] = [user(`Question ${conversation}`)];
      let first: string | null = null;
      for (let turn = 0; turn < 10; turn++) {
        const system = { role: 'system', content: `It is ${turn} o’clock.` };
        const version = chooseVersion(read({ messages: [system, ...messages] })!, shares);
        if (turn === 0) first = version;
        expect(version).to.equal(first);
        versions.add(version);
        messages.push({ role: 'assistant', content: `Answer ${turn}` }, user(`And ${turn}?`));
      }
    }
    expect(versions).to.deep.equal(new Set(['v2', 'v3', null]));
  });

  it('reads a bounded part of a message, whatever its shape', () => {
    let reads = 0;
    const item = () =>
      Object.defineProperty({}, 'text', {
        enumerable: true,
        get: () => {
          reads++;
          return 'x';
        },
      });
    read({ messages: [user(Array.from({ length: 10_000 }, item))] });
    expect(reads).to.be.below(100);
    const listed = new Proxy(
      { text: 'x' },
      {
        ownKeys: () => {
          throw new Error('all members were listed');
        },
      },
    );
    expect(read({ messages: [user(listed)] })).to.equal(read({ messages: [user('x')] }));
    const long = 'x'.repeat(10_000);
    expect(read({ messages: [user(`${long}a`)] })).to.equal(read({ messages: [user(`${long}b`)] }));
  });
});
