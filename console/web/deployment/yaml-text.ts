/** Manifests as YAML. Parsed in the browser: the server does not spend time on what people write. */
import { parseDocument, stringify } from 'yaml';

/** Throws an error whose message names the line. */
export function parseManifest(yaml: string): object {
  const document = parseDocument(yaml, { prettyErrors: true });
  const [error] = document.errors;
  // The parser draws the line below its message.
  if (error) throw new Error(error.message.split('\n')[0]!.replace(/:$/, ''));
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('This is not a manifest: an object with apiVersion, kind, metadata and spec.');
  return value;
}

export const formatManifest = (manifest: object): string => stringify(manifest);
