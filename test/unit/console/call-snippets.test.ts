import { expect } from 'chai';
import { type EndpointCall, writeCallSnippet } from '../../../console/web/deployment/call-snippets.ts';
import { LANGUAGES, type Language } from '../../../console/web/deployment/sdk-frames.ts';
import { buildSnippet } from '../../../console/web/deployment/snippets.ts';

const BASE = 'https://image.example.com/v1';
const EDIT: EndpointCall = {
  kind: 'Image',
  body: { model: 'acme/image', prompt: "It's; dawn", size: undefined, n: 2, seed: 7 },
  files: { image: 'my image.png' },
};
const write = (call: EndpointCall, language: Language) => writeCallSnippet(BASE, call, language);

describe('code examples of a call', () => {
  it('are a form in curl where files are sent, whose texts are no file names and no types', () => {
    expect(write(EDIT, 'curl')).to.equal(`curl ${BASE}/images/edits \\
  -H "Authorization: Bearer $BERTH_KEY" \\
  -F model=acme/image \\
  --form-string 'prompt=It'\\''s; dawn' \\
  -F n=2 \\
  -F seed=7 \\
  -F 'image=@my image.png'`);
    const video: EndpointCall = { kind: 'Video', body: { model: 'acme/video', prompt: '@home' } };
    expect(write(video, 'curl')).to.include('--form-string prompt=@home');
  });

  it('have what the SDK of Python does not know in extra_body', () => {
    expect(write(EDIT, 'Python')).to.include(`answer = client.images.edit(
    model="acme/image",
    prompt="It's; dawn",
    n=2,
    image=open("my image.png", "rb"),
    extra_body={"seed": 7},
)
print(answer.data[0].url)`);
  });

  it('have it spread in TypeScript, where the types of the SDK let it pass', () => {
    const code = write(EDIT, 'TypeScript');
    expect(code).to.include(`  image: await toFile(createReadStream('my image.png')),
  ...{ seed: 7 },
});`);
  });

  it('send files in TypeScript such that the SDK can send them again', () => {
    expect(write(EDIT, 'TypeScript')).to.match(
      /^import { createReadStream } from 'node:fs';\nimport OpenAI, { toFile } from 'openai';\n/,
    );
    const text: EndpointCall = { kind: 'Image', body: { model: 'acme/image', prompt: 'Dawn' } };
    expect(write(text, 'TypeScript')).to.match(/^import OpenAI from 'openai';\n/);
  });

  it('store speech in a file of its format', () => {
    const speech: EndpointCall = {
      kind: 'Speech',
      body: { model: 'acme/speech', input: 'Hello', response_format: 'wav' },
    };
    for (const language of LANGUAGES) expect(write(speech, language)).to.include('speech.wav');
  });

  for (const kind of ['LLM', 'Embedding', 'Rerank', 'Transcription', 'Speech', 'Image', 'Video'] as const)
    it(`begin with one of kind ${kind}, in every language`, () => {
      const deployment = { kind, modelId: 'acme/model', media: null, baseURL: BASE };
      for (const language of LANGUAGES) {
        const code = buildSnippet(deployment, language);
        expect(code).to.include('acme/model').and.to.include(BASE);
        expect(code).not.to.include('undefined');
      }
    });
});
