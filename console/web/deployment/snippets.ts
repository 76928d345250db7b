/** Code examples: one call of a deployment's endpoint, in each language. Pure. */
import type { DeploymentView } from '../../api.ts';

export const LANGUAGES = ['curl', 'Python', 'Node'] as const;
export type Language = (typeof LANGUAGES)[number];

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

const curlJSON = (url: string, body: object): string =>
  `curl ${url} \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`;

const python = (base: string, call: string): string => `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["API_KEY"])
${call}`;

const node = (base: string, call: string): string => `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quote(base)}, apiKey: process.env.API_KEY });
${call}`;

/** As curl names files. */
const RECORDING = 'recording.wav';

const quote = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;

const RERANK = {
  query: 'Where do ships lie?',
  documents: ['Bread is baked at night.', 'Ships lie at a berth.'],
};

const SNIPPETS: Record<DeploymentView['kind'], Record<Language, (facts: Facts) => string>> = {
  LLM: {
    curl: ({ base, model }) =>
      curlJSON(`${base}/chat/completions`, { model, messages: [{ role: 'user', content: 'Hello!' }] }),
    Python: ({ base, model }) =>
      python(
        base,
        `answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
      ),
    Node: ({ base, model }) =>
      node(
        base,
        `const answer = await client.chat.completions.create({
  model: ${quote(model)},
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`,
      ),
  },
  Embedding: {
    curl: ({ base, model }) => curlJSON(`${base}/embeddings`, { model, input: 'A harbour at dawn' }),
    Python: ({ base, model }) =>
      python(
        base,
        `answer = client.embeddings.create(model=${JSON.stringify(model)}, input="A harbour at dawn")
print(len(answer.data[0].embedding))`,
      ),
    Node: ({ base, model }) =>
      node(
        base,
        `const answer = await client.embeddings.create({ model: ${quote(model)}, input: 'A harbour at dawn' });
console.log(answer.data[0].embedding.length);`,
      ),
  },
  Rerank: {
    curl: ({ base, model }) => curlJSON(`${base}/rerank`, { model, ...RERANK }),
    Python: ({ base, model }) =>
      python(
        base,
        `answer = client.post("/rerank", cast_to=object, body={
    "model": ${JSON.stringify(model)},
    "query": ${JSON.stringify(RERANK.query)},
    "documents": ${JSON.stringify(RERANK.documents)},
})
print(answer["results"][0]["index"])`,
      ),
    Node: ({ base, model }) =>
      node(
        base,
        `const answer = await client.post('/rerank', {
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
      python(
        base,
        `with open("${RECORDING}", "rb") as file:
    answer = client.audio.transcriptions.create(model=${JSON.stringify(model)}, file=file)
print(answer.text)`,
      ),
    Node: ({ base, model }) =>
      node(
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
      curlJSON(`${base}/audio/speech`, { model, voice: 'default', input: 'A ship leaves at dawn.' }).replace(
        'curl ',
        'curl -o speech.mp3 ',
      ),
    Python: ({ base, model }) =>
      python(
        base,
        `with client.audio.speech.with_streaming_response.create(
    model=${JSON.stringify(model)}, voice="default", input="A ship leaves at dawn.",
) as answer:
    answer.stream_to_file("speech.mp3")`,
      ),
    Node: ({ base, model }) =>
      node(
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
      curlJSON(`${base}/images/generations`, { model, prompt: 'A harbour at dawn', size }),
    Python: ({ base, model, size }) =>
      python(
        base,
        `answer = client.images.generate(model=${JSON.stringify(model)}, prompt="A harbour at dawn", size="${size}")
print(answer.data[0].url)`,
      ),
    Node: ({ base, model, size }) =>
      node(
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
      python(
        base,
        `video = client.videos.create_and_poll(
    model=${JSON.stringify(model)}, prompt="A ship leaves", seconds="${seconds}", size="${size}",
)
client.videos.download_content(video.id).write_to_file("ship.mp4")`,
      ),
    Node: ({ base, model, size, seconds }) =>
      node(
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
