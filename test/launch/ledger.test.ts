/** The receipts of all kinds of requests against the account of their workspace, over `make run`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSpentMicros } from '../../redis/admission/admission-calls.ts';
import type { RedisConnection } from '../../redis/client.ts';
import { makeSamples, wrapWAV } from '../../simulator/sounds.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';
import { connectTo } from '../support/redis-client.ts';

const NAMESPACE = 'default';
const MICROS = 1_000_000;
const PRICES = {
  LLM: { perMillionInputTokens: '1.234567', perMillionOutputTokens: '7.654321' },
  Image: { perImage: '0.04' },
  Video: { perVideoSecond: '0.1' },
  Transcription: { perAudioMinute: '0.36' },
  Speech: { perMillionCharacters: '15' },
};
type Kind = keyof typeof PRICES;
const MEDIA: Partial<Record<Kind, object>> = {
  Image: { image: { sizes: ['64x64'], tasks: ['txt2img'] } },
  Video: { video: { resolutions: ['64x64'], tasks: ['t2v'] } },
};

const describeModel = (kind: string) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: kind.toLowerCase(), namespace: NAMESPACE },
  spec: {
    kind,
    model: { id: kind },
    engine: { preset: 'simulator', env: [{ name: 'SIMULATOR_JOB_SECONDS', value: '0.2' }] },
    pricing: PRICES[kind as Kind],
    ...MEDIA[kind as Kind],
  },
});
const WORKSPACE = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'workspace', namespace: NAMESPACE },
  spec: { ownerEmail: 'owner@example.com', credit: '1000' },
};

describe('the account of a workspace', function () {
  this.timeout(120_000);
  const models = mkdtempSync(join(tmpdir(), 'berth-models-'));
  let stack: LocalStack;
  let connection: RedisConnection;

  before(async () => {
    const objects = [...Object.keys(PRICES).map(describeModel), WORKSPACE];
    writeFileSync(join(models, 'objects.yaml'), objects.map((each) => JSON.stringify(each)).join('\n---\n'));
    stack = await startLocalStack({ MODELS: models });
    connection = await connectTo({ url: stack.endpoints.redisURL });
  });
  after(async () => {
    await connection?.close();
    await stack?.stop();
    rmSync(models, { recursive: true, force: true });
  });

  /** Answers what the receipt says, in millionths. */
  const ask = async (kind: Kind, path: string, body: object): Promise<{ micros: number; id?: string }> => {
    const { baseURL, apiKey } = stack.find(kind);
    const isForm = body instanceof FormData;
    const response = await fetch(`${baseURL}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'x-berth-receipt': 'true',
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    const text = await response.text();
    expect(response.status, `${path}: ${text}`).to.be.oneOf([200, 202]);
    const { cost } = JSON.parse(/\n: receipt (\{.*\})\n/.exec(text)?.[1] ?? '{}') as { cost?: string };
    const micros = Math.round(Number(cost ?? response.headers.get('x-berth-cost')) * MICROS);
    expect(micros, `the receipt of ${path}`).to.be.above(0);
    const { id } = /^\{/.test(text) ? (JSON.parse(text) as { id?: string }) : {};
    return { micros, ...(id !== undefined && { id }) };
  };
  const setFault = async (kind: Kind, fault: object | null) => {
    const body = JSON.stringify({ fault, faultTimes: -1 });
    const response = await fetch(`${stack.find(kind).simulatorURL}/control`, { method: 'PUT', body });
    expect(response.status).to.equal(200);
  };
  const untilEnded = async (kind: Kind, id: string): Promise<string> => {
    const { baseURL, apiKey } = stack.find(kind);
    let status = '';
    await pollUntil(
      async () => {
        const headers = { authorization: `Bearer ${apiKey}` };
        const answer = await fetch(`${baseURL}/requests/${id}`, { headers });
        ({ status } = (await answer.json()) as { status: string });
        return !/queued|running/.test(status);
      },
      `the end of ${id}`,
      60_000,
    );
    return status;
  };
  const makeFilm = () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({
      model: 'Video',
      prompt: 'A ship',
      size: '64x64',
      seconds: '2',
    }))
      form.append(name, value);
    return form;
  };

  it('is the sum of the receipts of all kinds of requests, without those that failed', async () => {
    const messages = [{ role: 'user', content: 'Hello there' }];
    const sound = new FormData();
    const samples = makeSamples(['a', 'ship', 'leaves', 'at', 'dawn'], 0.5);
    sound.append('file', new Blob([new Uint8Array(wrapWAV(samples))]), 'speech.wav');
    const picture = { model: 'Image', prompt: 'A ship', size: '64x64' };
    const kept = [
      await ask('LLM', '/chat/completions', { model: 'LLM', messages }),
      await ask('LLM', '/chat/completions', { model: 'LLM', messages, stream: true }),
      await ask('Image', '/images/generations', { ...picture, n: 2 }),
      await ask('Image', '/images/generations?async=true', picture),
      await ask('Video', '/videos', makeFilm()),
      await ask('Transcription', '/audio/transcriptions', sound),
      await ask('Speech', '/audio/speech', {
        model: 'Speech',
        input: 'A ship leaves at dawn.',
        voice: 'alloy',
      }),
    ];
    expect(await untilEnded('Image', kept[3]!.id!)).to.equal('succeeded');
    expect(await untilEnded('Video', kept[4]!.id!)).to.equal('succeeded');
    await setFault('Video', { kind: 'oom' });
    const failed = await ask('Video', '/videos', makeFilm());
    expect(await untilEnded('Video', failed.id!)).to.equal('failed');

    expect(kept.slice(2, 5).map(({ micros }) => micros)).to.deep.equal([80_000, 40_000, 200_000]);
    expect(failed.micros).to.equal(200_000);
    const sum = kept.reduce((total, { micros }) => total + micros, 0);
    let spent = 0;
    await pollUntil(async () => {
      spent = await readSpentMicros(connection.redis, NAMESPACE);
      return spent === sum;
    }, 'the account to have all').catch(() => expect(spent).to.equal(sum));
  });
});
