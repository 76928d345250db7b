/** Manifests as YAML that means the same here and to kubectl, whose parser is of YAML 1.1. The console's page parses them itself. */
import { Document, type ParseOptions, parseDocument, type SchemaOptions, type Tags, visit } from 'yaml';

/** For parsers of the yaml package: `off` is false, but dates and times stay strings. */
export const KUBECTL_YAML: ParseOptions & SchemaOptions & { version: '1.1' } = {
  version: '1.1',
  customTags: (tags: Tags) =>
    tags.filter(
      (tag) => typeof tag === 'string' || !(tag.tag.endsWith(':timestamp') || tag.format === 'TIME'),
    ),
};

/**
 * Strings that kubectl's parser, which is of YAML 1.1, may read as a boolean, a number, a time or a merge: `off` would become false.
 * The library writes YAML 1.2, where they are plain strings.
 */
const AMBIGUOUS = /^(y|n|yes|no|on|off|<<|=|[-+]?[.\d][-+\d_.:a-fox tz]*)$/i;

/** Throws an error whose message names the line. */
export function parseManifest(yaml: string): object {
  const document = parseDocument(yaml, { ...KUBECTL_YAML, prettyErrors: true });
  const [error] = document.errors;
  // The parser draws the line below its message.
  if (error) throw new Error(error.message.split('\n')[0]!.replace(/:$/, ''));
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('This is not a manifest: an object with apiVersion, kind, metadata and spec.');
  return value;
}

/** Both this library and kubectl read it as it was meant. */
export function formatManifest(manifest: object): string {
  const document = new Document(manifest);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && AMBIGUOUS.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString();
}
