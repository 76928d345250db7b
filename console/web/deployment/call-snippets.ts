/** Code examples of one call of an endpoint, in each language. Pure. */
import type { DeploymentView } from '../../api.ts';
import { writeChatSnippet } from './chat-snippets.ts';
import { type JSONValue, quoteTypeScript, writePython, writeTypeScript } from './literals.ts';
import {
  type Language,
  writeCurl,
  writeCurlForm,
  writePythonCall,
  writeTypeScriptCall,
} from './sdk-frames.ts';

export interface EndpointCall {
  kind: DeploymentView['kind'];
  /** Parameters that are not set are absent. */
  body: { model: string; [parameter: string]: JSONValue | undefined };
  /** Names of files by parameter, such as `{ file: 'recording.wav' }`. */
  files?: Record<string, string>;
}

type Kind = Exclude<DeploymentView['kind'], 'LLM'>;

interface Route {
  path: string;
  /** Sent as a form, also without files. */
  isForm?: true;
  /** Parameters that OpenAI's SDKs know; null: all, since the call is not theirs. */
  known: readonly string[] | null;
}

const IMAGE_PARAMETERS = ['model', 'prompt', 'n', 'size'];
const ROUTES: Record<Kind, Route> = {
  Embedding: { path: 'embeddings', known: ['model', 'input'] },
  Rerank: { path: 'rerank', known: null },
  Transcription: {
    path: 'audio/transcriptions',
    isForm: true,
    known: ['model', 'language', 'prompt', 'temperature'],
  },
  Speech: { path: 'audio/speech', known: ['model', 'input', 'voice', 'response_format', 'speed'] },
  Image: { path: 'images/generations', known: IMAGE_PARAMETERS },
  Video: { path: 'videos', isForm: true, known: ['model', 'prompt', 'seconds', 'size'] },
};
const EDITS: Route = { path: 'images/edits', isForm: true, known: IMAGE_PARAMETERS };

/** `base`: the deployment's URL, with /v1. */
export function writeCallSnippet(base: string, call: EndpointCall, language: Language): string {
  const { kind, body, files = {} } = call;
  const { model, ...rest } = body;
  if (kind === 'LLM') return writeChatSnippet(base, { model, messages: [], ...rest }, language);
  const isEdit = kind === 'Image' && Object.keys(files).length > 0;
  const set = Object.entries(body).filter((entry): entry is [string, JSONValue] => entry[1] !== undefined);
  const parts = { base, set, files, route: isEdit ? EDITS : ROUTES[kind] };
  return WRITERS[language](parts, isEdit ? 'Edit' : kind);
}

interface Parts {
  base: string;
  route: Route;
  set: [string, JSONValue][];
  files: Record<string, string>;
}
type Form = Kind | 'Edit';

const FILE_NAMES: Partial<Record<Form, string>> = { Speech: 'speech', Video: 'video.mp4' };

const WRITERS: Record<Language, (parts: Parts, form: Form) => string> = {
  curl: ({ base, route, set, files }, form) => {
    const url = `${base}/${route.path}`;
    const call = route.isForm ? writeCurlForm(url, set, files) : writeCurl(url, Object.fromEntries(set));
    if (form === 'Speech') return call.replace('curl ', `curl -o ${nameSpeech(set)} `);
    if (form !== 'Video') return call;
    return `${call}
# With the id of the answer:
curl ${base}/requests/$ID -H "Authorization: Bearer $BERTH_KEY"
curl -L -o ${FILE_NAMES.Video} ${base}/videos/$ID/content -H "Authorization: Bearer $BERTH_KEY"`;
  },
  Python: (parts, form) => writePythonCall(parts.base, PYTHON[form](listPython(parts), parts)),
  TypeScript: (parts, form) => {
    const hasFiles = Object.keys(parts.files).length > 0;
    const named = hasFiles ? ['toFile'] : [];
    const imports = [
      ...(hasFiles ? ["import { createReadStream } from 'node:fs';"] : []),
      ...(FILE_NAMES[form] ? ["import { writeFile } from 'node:fs/promises';"] : []),
    ];
    const code = writeTypeScriptCall(parts.base, TYPESCRIPT[form](listTypeScript(parts), parts), named);
    return [...imports, code].join('\n');
  },
};

/** The file that the audio is stored in. */
const nameSpeech = (set: Parts['set']): string =>
  `${FILE_NAMES.Speech}.${set.find(([name]) => name === 'response_format')?.[1] ?? 'mp3'}`;

const isKnown = ({ known }: Route, name: string): boolean => known === null || known.includes(name);

function listPython({ route, set, files }: Parts): string {
  const extra = Object.fromEntries(set.filter(([name]) => !isKnown(route, name)));
  return [
    ...set
      .filter(([name]) => isKnown(route, name))
      .map(([name, value]) => `    ${name}=${writePython(value, 1)},\n`),
    ...Object.entries(files).map(([name, file]) => `    ${name}=open(${JSON.stringify(file)}, "rb"),\n`),
    ...(Object.keys(extra).length > 0 ? [`    extra_body=${writePython(extra, 1)},\n`] : []),
  ].join('');
}

function listTypeScript({ route, set, files }: Parts): string {
  const extra = Object.fromEntries(set.filter(([name]) => !isKnown(route, name)));
  return [
    ...set
      .filter(([name]) => isKnown(route, name))
      .map(([name, value]) => `  ${name}: ${writeTypeScript(value, 1)},\n`),
    // The SDK never repeats a form with a stream, not even after the 503 of a cold start.
    ...Object.entries(files).map(
      ([name, file]) => `  ${name}: await toFile(createReadStream(${quoteTypeScript(file)})),\n`,
    ),
    // The types of OpenAI's SDK do not check what is spread.
    ...(Object.keys(extra).length > 0 ? [`  ...${writeTypeScript(extra, 1)},\n`] : []),
  ].join('');
}

type Writer = (parameters: string, parts: Parts) => string;

const PYTHON: Record<Form, Writer> = {
  Embedding: (parameters) =>
    `answer = client.embeddings.create(\n${parameters})\nprint(len(answer.data[0].embedding))`,
  Rerank: (_, { set }) =>
    `answer = client.post("/rerank", cast_to=object, body=${writePython(Object.fromEntries(set))})
print(answer["results"][0]["index"])`,
  Transcription: (parameters) =>
    `answer = client.audio.transcriptions.create(\n${parameters})\nprint(answer.text)`,
  Speech: (parameters, { set }) =>
    `with client.audio.speech.with_streaming_response.create(\n${parameters}) as answer:
    answer.stream_to_file("${nameSpeech(set)}")`,
  Image: (parameters) => `answer = client.images.generate(\n${parameters})\nprint(answer.data[0].url)`,
  Edit: (parameters) => `answer = client.images.edit(\n${parameters})\nprint(answer.data[0].url)`,
  Video: (parameters) =>
    `video = client.videos.create_and_poll(\n${parameters})
client.videos.download_content(video.id).write_to_file("${FILE_NAMES.Video}")`,
};

const TYPESCRIPT: Record<Form, Writer> = {
  Embedding: (parameters) =>
    `const answer = await client.embeddings.create({\n${parameters}});
console.log(answer.data[0].embedding.length);`,
  Rerank: (_, { set }) =>
    `const answer = await client.post<{ results: { index: number }[] }>('/rerank', {
  body: ${writeTypeScript(Object.fromEntries(set), 1)},
});
console.log(answer.results[0].index);`,
  Transcription: (parameters) =>
    `const answer = await client.audio.transcriptions.create({\n${parameters}});\nconsole.log(answer.text);`,
  Speech: (parameters, { set }) =>
    `const answer = await client.audio.speech.create({\n${parameters}});
await writeFile('${nameSpeech(set)}', Buffer.from(await answer.arrayBuffer()));`,
  Image: (parameters) =>
    `const answer = await client.images.generate({\n${parameters}});\nconsole.log(answer.data[0].url);`,
  Edit: (parameters) =>
    `const answer = await client.images.edit({\n${parameters}});\nconsole.log(answer.data[0].url);`,
  Video: (parameters) =>
    `let video = await client.videos.create({\n${parameters}});
while (video.status === 'queued' || video.status === 'in_progress') {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  video = await client.videos.retrieve(video.id);
}
const content = await client.videos.downloadContent(video.id);
await writeFile('${FILE_NAMES.Video}', Buffer.from(await content.arrayBuffer()));`,
};
