import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { itSimulated, type LocalStack } from '../support/local-stack.ts';
import { usePython } from '../support/python.ts';
import { shareStack } from './shared-stack.ts';

const VERSIONS = ['anthropic==2.14.0', 'anthropic==1.17.0'];

describe('Anthropic’s SDK for Python', () => {
  let stack: LocalStack;
  const pythons = new Map(VERSIONS.map((version) => [version, usePython([version])]));
  before(async () => {
    stack = await shareStack();
  });

  for (const version of VERSIONS)
    itSimulated(`gets messages, calls a tool, lists models and raises with ${version}`, async () => {
      const { baseURL, modelId, apiKey } = stack.find('LLM');
      const { stdout } = await promisify(execFile)(
        pythons.get(version)!(),
        ['test/conformance/anthropic_python.py'],
        { env: { ...process.env, BASE_URL: new URL(baseURL).origin, MODEL: modelId, API_KEY: apiKey } },
      );
      const seen = JSON.parse(stdout);
      expect(seen.text).to.not.be.empty;
      expect(seen.streamed).to.equal(seen.text);
      expect(seen.tokens[0]).to.be.greaterThan(0).and.equal(seen.tokens[1]);
      expect(seen.tool).to.deep.equal(['tool_use', 'get_weather', ['city']]);
      expect(seen).to.deep.include({
        answered: 'text',
        counted: true,
        models: [modelId],
        model: 'Tiny Chat',
        mismatch: ['BadRequestError', 'invalid_request_error'],
        wrong_key: ['AuthenticationError', 'authentication_error'],
      });
    });
});
