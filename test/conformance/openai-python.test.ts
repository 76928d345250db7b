import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { itSimulated, type LocalStack } from '../support/local-stack.ts';
import { probeFilm } from '../support/media-files.ts';
import { usePython } from '../support/python.ts';
import { shareStack } from './shared-stack.ts';

/** Before 2.28, videos without a file are sent as JSON. */
const VERSIONS = ['openai==3.57.0', 'openai==2.54.0', 'openai==2.24.0', 'openai==2.6.0'];
const SENDS_JSON = /==2\.(6|24)\./;

describe('OpenAI SDK for Python', () => {
  let stack: LocalStack;
  const folder = mkdtempSync(join(tmpdir(), 'berth-python-'));
  const pythons = new Map(VERSIONS.map((version) => [version, usePython([version])]));
  before(async () => {
    stack = await shareStack();
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  for (const version of VERSIONS)
    it(`chats, streams, embeds, lists and raises with ${version}`, async () => {
      const chat = stack.find('LLM');
      const embed = stack.find('Embedding');
      const { stdout } = await promisify(execFile)(
        pythons.get(version)!(),
        ['test/conformance/openai_python.py'],
        {
          env: {
            ...process.env,
            CHAT_URL: chat.baseURL,
            CHAT_MODEL: chat.modelId,
            EMBED_URL: embed.baseURL,
            EMBED_MODEL: embed.modelId,
            API_KEY: chat.apiKey,
          },
        },
      );
      const seen = JSON.parse(stdout);
      expect(seen.text).to.not.be.empty;
      expect(seen.streamed).to.equal(seen.text);
      expect(seen.stream_tokens).to.equal(seen.total_tokens);
      expect(seen.vectors).to.have.length(2);
      expect(seen.models).to.deep.equal([chat.modelId]);
      expect([seen.mismatch, seen.wrong_key]).to.deep.equal(['model_mismatch', 'invalid_api_key']);
    });

  for (const version of VERSIONS)
    itSimulated(`makes images and videos with ${version}`, async () => {
      const image = stack.find('Image');
      const video = stack.endpoints.deployments.find(({ native }) => native === null)!;
      const file = join(folder, `${version}.mp4`);
      const env = {
        ...process.env,
        IMAGE_URL: image.baseURL,
        IMAGE_MODEL: image.modelId,
        VIDEO_URL: video.baseURL,
        VIDEO_MODEL: video.modelId,
        VIDEO_FILE: file,
        API_KEY: image.apiKey,
      };
      const program = pythons.get(version)!();
      const { stdout } = await promisify(execFile)(program, ['test/conformance/openai_media.py'], { env });
      const seen = JSON.parse(stdout);
      expect(seen).to.deep.equal({
        linked: '256x256',
        inline: ['256x256', '256x256'],
        edited: '256x256',
        referred: '256x256',
        events: ['image_generation.completed'],
        queued: 'queued',
        video: 'completed',
        text_encoding: SENDS_JSON.test(version) ? 'application/json' : 'multipart/form-data',
        text_video: ['video', '1.042', '320x192'],
        text_status: 'completed',
        inline_encoding: SENDS_JSON.test(version) ? 'application/json' : 'multipart/form-data',
        inline_video: ['1.125', 'completed'],
        repeat: true,
        file_id: true,
        size: 'size_not_supported',
      });
      expect(await probeFilm(readFileSync(file))).to.deep.equal({
        codec: 'h264',
        size: '320x192',
        frames: 25,
        fps: 24,
      });
    });
});
