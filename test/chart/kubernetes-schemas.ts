/** JSON schemas for kubeconform, taken from a real API server instead of a download. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeRequest } from '../support/kube-request.ts';

interface Definition {
  properties?: Record<string, unknown>;
  additionalProperties?: unknown;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/** Writes a file per kind, named by kubeconform's `{{ .ResourceKind }}{{ .KindSuffix }}.json`; returns the folder. */
export async function writeKubernetesSchemas(request: KubeRequest): Promise<string> {
  const { body } = await request('GET', '/openapi/v2');
  const definitions = body.definitions as Record<string, Definition>;
  const folder = mkdtempSync(join(tmpdir(), 'berth-schemas-'));
  for (const definition of Object.values(definitions)) closeDefinition(definition);
  for (const [name, definition] of Object.entries(definitions))
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const suffix = [group.split('.')[0], version].filter(Boolean).join('-');
      const schema = { $ref: `#/definitions/${name}`, definitions: pickReferenced(definitions, name) };
      writeFileSync(join(folder, `${kind.toLowerCase()}-${suffix}.json`), JSON.stringify(schema));
    }
  return folder;
}

/** Rejects unknown fields. */
function closeDefinition(definition: Definition): void {
  if (definition.properties && definition.additionalProperties === undefined)
    definition.additionalProperties = false;
}

function pickReferenced(definitions: Record<string, Definition>, root: string): Record<string, Definition> {
  const picked: Record<string, Definition> = {};
  const queue = [root];
  for (let name = queue.pop(); name; name = queue.pop()) {
    if (picked[name]) continue;
    picked[name] = definitions[name]!;
    for (const [, next] of JSON.stringify(picked[name]).matchAll(/"#\/definitions\/([^"]+)"/g))
      queue.push(next!);
  }
  // An int-or-string has type string in OpenAPI v2.
  const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
  if (picked[intOrString]) picked[intOrString] = { type: ['string', 'integer'] } as Definition;
  const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
  if (picked[quantity]) picked[quantity] = { type: ['string', 'number'] } as Definition;
  return picked;
}
