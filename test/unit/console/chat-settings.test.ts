import { expect } from 'chai';
import {
  buildChatBody,
  type ChatMessage,
  NO_SETTINGS,
  previewMessages,
} from '../../../console/web/playground/chat-settings.ts';

const ASKED: ChatMessage = { role: 'user', content: 'Hi' };
const ANSWERED: ChatMessage = { role: 'assistant', content: 'Hello.' };

describe('the settings of a chat', () => {
  it('send nothing that is empty', () => {
    const body = buildChatBody('acme/chat', { ...NO_SETTINGS, system: ' ', stop: '\n' }, [ASKED]);
    expect(body).to.deep.equal({ model: 'acme/chat', messages: [ASKED], stream: true });
  });

  it('put the system prompt first, and send each parameter under its own name', () => {
    const settings = {
      system: 'Be brief.',
      temperature: 0,
      topP: 0.9,
      maxTokens: 64,
      seed: 7,
      stop: 'END\n\\n\\n\n',
      reasoningEffort: 'low',
    };
    expect(buildChatBody('acme/chat', settings, [ASKED])).to.deep.equal({
      model: 'acme/chat',
      messages: [{ role: 'system', content: 'Be brief.' }, ASKED],
      temperature: 0,
      top_p: 0.9,
      max_tokens: 64,
      seed: 7,
      stop: ['END', '\n\n'],
      reasoning_effort: 'low',
      stream: true,
    });
  });

  it('leave out a number that is not complete', () => {
    expect(buildChatBody('acme/chat', { ...NO_SETTINGS, temperature: '-' }, [])).not.to.have.property(
      'temperature',
    );
  });

  it('send of a message nothing but its words', () => {
    const answer = { ...ANSWERED, figures: '2 tokens' };
    expect(buildChatBody('acme/chat', NO_SETTINGS, [ASKED, answer]).messages).to.deep.equal([
      ASKED,
      ANSWERED,
    ]);
  });
});

describe('the code beside a chat', () => {
  it('has the message that is being written, after the conversation', () => {
    expect(previewMessages([ASKED, ANSWERED], ' And now? ')).to.deep.equal([
      ASKED,
      ANSWERED,
      { role: 'user', content: 'And now?' },
    ]);
  });

  it('has the last call while nothing is written, and a greeting before the first', () => {
    expect(previewMessages([ASKED, ANSWERED], '')).to.deep.equal([ASKED]);
    expect(previewMessages([], '')).to.deep.equal([{ role: 'user', content: 'Hello!' }]);
  });
});
