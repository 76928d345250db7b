/** The memory API server takes and refuses what a real one does, in the same words. */
import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { type ApiServer, startApiServer } from '../../../kube/memory/api-server.ts';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import type { Schema } from '../../../kube/memory/schema.ts';
import { readLocalTypes } from '../../../launch/local-resources.ts';
import { MANIFESTS } from '../../support/admission/manifests.ts';
import { ask, keyOf, readAnswers, type Send } from '../../support/admission/replay.ts';

const TOKEN = 'sign-in';
const ANSWERS = readAnswers();

describe('the memory API server, like a real one,', () => {
  let server: ApiServer;
  before(async () => {
    const api = new MemoryApi({ types: readLocalTypes() });
    api.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    server = await startApiServer({ api, token: TOKEN, user: 'somebody', host: '127.0.0.1', port: 0 });
  });
  after(() => server.close());

  const send: Send = async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetch(`${server.url}/${TOKEN}${path}`, {
      method,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };

  for (const manifest of MANIFESTS) {
    const expected = ANSWERS[keyOf(manifest)];
    it(`${(expected?.status ?? 0) < 300 ? 'takes' : 'refuses'} ${manifest.what} (${manifest.kind})`, async () => {
      expect(await ask(send, manifest)).to.deep.equal(expected);
    });
  }
});

describe('the manifests', () => {
  it('break each rule of the definitions', () => {
    const causes = Object.entries(ANSWERS).flatMap(([key, { causes: own = [] }]) =>
      own.map(({ field, message }) => ({
        kind: key.split(':')[0],
        field: field.replaceAll(/\[\d+\]/g, '[]'),
        message,
      })),
    );
    // What a messageExpression says differs with each manifest.
    const isBroken = ({ kind, path, rule: { fieldPath = '', message, messageExpression } }: ListedRule) =>
      causes.some(
        (cause) =>
          cause.kind === kind &&
          cause.field === (`${path}${fieldPath}`.replace(/^\./, '') || '<nil>') &&
          (messageExpression !== undefined || cause.message.endsWith(message!)),
      );
    expect(listRules().filter((rule) => !isBroken(rule))).to.deep.equal([]);
  });
});

interface ListedRule {
  kind: string;
  path: string;
  rule: { rule: string; message?: string; messageExpression?: string; fieldPath?: string };
}

function listRules(): ListedRule[] {
  return globSync('charts/berth/files/crds/*.yaml').flatMap((file) => {
    const { spec } = parse(readFileSync(file, 'utf8'));
    const list = (schema: Schema, path: string): ListedRule[] => [
      ...((schema['x-kubernetes-validations'] ?? []) as ListedRule['rule'][]).map((rule) => ({
        kind: spec.names.kind,
        path: path.replace(/^\./, ''),
        rule,
      })),
      ...Object.entries(schema.properties ?? {}).flatMap(([name, own]) => list(own, `${path}.${name}`)),
      ...(schema.items ? list(schema.items, `${path}[]`) : []),
    ];
    return list(spec.versions[0].schema.openAPIV3Schema, '');
  });
}
