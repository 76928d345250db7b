/** Code examples: one call of a deployment's endpoint, in each language. Pure. */
import type { DeploymentView } from '../../api.ts';
import { writeChatSnippet } from './chat-snippets.ts';
import { quoteTypeScript as quote } from './literals.ts';
import { type Language, writeCurl, writePythonCall, writeTypeScriptCall } from './sdk-frames.ts';

export function buildSnippet(
  { kind, modelId, baseURL, media }: DeploymentView & { baseURL: string },
  language: Language,
): string {
  const size = media?.sizes[0] ?? '1024x1024';
  const facts = { base: baseURL, model: modelId, size, seconds: String(media?.native?.seconds ?? 4) };
  return SNIPPETS[kind][language](facts);
}

interface Facts {
  base: string;
  model: string;
  size: string;
  seconds: string;
}

/** As curl names files. */
const RECORDING = 'recording.wav';

const RERANK = {
  query: 'Where do ships lie?',
  documents: ['Bread is baked at night.', 'Ships lie at a berth.'],
};

const greet = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hello!' }] });

const SNIPPETS: Record<DeploymentView['kind'], Record<Language, (facts: Facts) => string>> = {
  LLM: {
    curl: ({ base, model }) => writeChatSnippet(base, greet(model), 'curl'),
    Python: ({ base, model }) => writeChatSnippet(base, greet(model), 'Python'),
    TypeScript: ({ base, model }) => writeChatSnippet(base, greet(model), 'TypeScript'),
  },
  Embedding: {
    curl: ({ base, model }) => writeCurl(`${base}/embeddings`, { model, input: 'A harbour at dawn' }),
    Python: ({ base, model }) =>
      writePythonCall(
        base,
        `answer = client.embeddings.create(model=${JSON.stringify(model)}, input="A harbour at dawn")
print(len(answer.data[0].embedding))`,
      ),
    TypeScript: ({ base, model }) =>
      writeTypeScriptCall(
        base,
        `const answer = await client.embeddings.create({ model: ${quote(model)}, input: 'A harbour at dawn' });
console.log(answer.data[0].embedding.length);`,
      ),
  },
  Rerank: {
    curl: ({ base, model }) => writeCurl(`${base}/rerank`, { model, ...RERANK }),
    Python: ({ base, model }) =>
      writePythonCall(
        base,
        `answer = client.post("/rerank", cast_to=object, body={
    "model": ${JSON.stringify(model)},
    "query": ${JSON.stringify(RERANK.query)},
    "documents": ${JSON.stringify(RERANK.documents)},
})
print(answer["results"][0]["index"])`,
      ),
    TypeScript: ({ base, model }) =>
      writeTypeScriptCall(
        base,
        `const answer = await client.post<{ results: { index: number }[] }>('/rerank', {
  body: {
    model: ${quote(model)},
    query: ${quote(RERANK.query)},
    documents: [${RERANK.documents.map(quote).join(', ')}],
  },
});
console.log(answer.results[0].index);`,
      ),
  },
  Transcription: {
    curl: ({ base, model }) => `curl ${base}/audio/transcriptions \\
  -H "Authorization: Bearer $API_KEY" \\
  -F model=${model} -F file=@${RECORDING}`,
    Python: ({ base, model }) =>
      writePythonCall(
        base,
        `with open("${RECORDING}", "rb") as file:
    answer = client.audio.transcriptions.create(model=${JSON.stringify(model)}, file=file)
print(answer.text)`,
      ),
    TypeScript: ({ base, model }) =>
      writeTypeScriptCall(
        base,
        `const answer = await client.audio.transcriptions.create({
  model: ${quote(model)},
  file: createReadStream('${RECORDING}'),
});
console.log(answer.text);`,
      ).replace('import OpenAI', "import { createReadStream } from 'node:fs';\nimport OpenAI"),
  },
  Speech: {
    curl: ({ base, model }) =>
      writeCurl(`${base}/audio/speech`, { model, voice: 'default', input: 'A ship leaves at dawn.' }).replace(
        'curl ',
        'curl -o speech.mp3 ',
      ),
    Python: ({ base, model }) =>
      writePythonCall(
        base,
        `with client.audio.speech.with_streaming_response.create(
    model=${JSON.stringify(model)}, voice="default", input="A ship leaves at dawn.",
) as answer:
    answer.stream_to_file("speech.mp3")`,
      ),
    TypeScript: ({ base, model }) =>
      writeTypeScriptCall(
        base,
        `const answer = await client.audio.speech.create({
  model: ${quote(model)},
  voice: 'default',
  input: 'A ship leaves at dawn.',
});
await writeFile('speech.mp3', Buffer.from(await answer.arrayBuffer()));`,
      ).replace('import OpenAI', "import { writeFile } from 'node:fs/promises';\nimport OpenAI"),
  },
  Image: {
    curl: ({ base, model, size }) =>
      writeCurl(`${base}/images/generations`, { model, prompt: 'A harbour at dawn', size }),
    Python: ({ base, model, size }) =>
      writePythonCall(
        base,
        `answer = client.images.generate(model=${JSON.stringify(model)}, prompt="A harbour at dawn", size="${size}")
print(answer.data[0].url)`,
      ),
    TypeScript: ({ base, model, size }) =>
      writeTypeScriptCall(
        base,
        `const answer = await client.images.generate({
  model: ${quote(model)},
  prompt: 'A harbour at dawn',
  size: '${size}',
});
console.log(answer.data[0].url);`,
      ),
  },
  Video: {
    curl: ({ base, model, size, seconds }) => `curl ${base}/videos \\
  -H "Authorization: Bearer $API_KEY" \\
  -F model=${model} -F prompt='A ship leaves' -F seconds=${seconds} -F size=${size}
# With the id of the answer:
curl ${base}/requests/$ID -H "Authorization: Bearer $API_KEY"
curl -L -o ship.mp4 ${base}/videos/$ID/content -H "Authorization: Bearer $API_KEY"`,
    Python: ({ base, model, size, seconds }) =>
      writePythonCall(
        base,
        `video = client.videos.create_and_poll(
    model=${JSON.stringify(model)}, prompt="A ship leaves", seconds="${seconds}", size="${size}",
)
client.videos.download_content(video.id).write_to_file("ship.mp4")`,
      ),
    TypeScript: ({ base, model, size, seconds }) =>
      writeTypeScriptCall(
        base,
        `let video = await client.videos.create({
  model: ${quote(model)},
  prompt: 'A ship leaves',
  seconds: '${seconds}',
  size: '${size}',
});
while (video.status === 'queued' || video.status === 'in_progress') {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  video = await client.videos.retrieve(video.id);
}
const content = await client.videos.downloadContent(video.id);
await writeFile('ship.mp4', Buffer.from(await content.arrayBuffer()));`,
      ).replace('import OpenAI', "import { writeFile } from 'node:fs/promises';\nimport OpenAI"),
  },
};
