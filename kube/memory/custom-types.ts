/** Kinds that CustomResourceDefinitions add. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { ResourceType, ScalePaths } from './resource-type.ts';
import type { Schema } from './schema.ts';
import { createObjectValidator } from './schema-validation.ts';
import { ageColumn, type Column, formatAge, nameColumn, readJSONPath } from './table.ts';

interface Definition {
  spec: {
    group: string;
    scope: string;
    names: { kind: string; plural: string; singular?: string; shortNames?: string[]; categories?: string[] };
    versions: {
      name: string;
      storage: boolean;
      schema: { openAPIV3Schema: Schema };
      subresources?: { status?: object; scale?: ScalePaths };
      additionalPrinterColumns?: {
        name: string;
        type: string;
        jsonPath: string;
        description?: string;
        priority?: number;
      }[];
    }[];
  };
}

/** The kinds of all definitions (YAML files) in a folder. */
export const readCustomTypes = (folder: string): ResourceType[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => toResourceType(parse(readFileSync(join(folder, name), 'utf8')) as Definition));

function toResourceType({ spec: { group, names, scope, versions } }: Definition): ResourceType {
  const version = versions.find(({ storage }) => storage)!;
  const { kind, plural, singular = kind.toLowerCase(), shortNames = [], categories = [] } = names;
  const columns = (version.additionalPrinterColumns ?? []).map(
    ({ jsonPath, priority = 0, name, type, description = '' }): Column => ({
      name,
      type: type === 'date' ? 'string' : type,
      description,
      priority,
      read: (object, now) => {
        const value = readJSONPath(object, jsonPath);
        return type === 'date' && value !== undefined ? formatAge(value, now) : value;
      },
    }),
  );
  const hasAge = columns.some(({ name }) => name === 'Age');
  return {
    group,
    version: version.name,
    kind,
    plural,
    singular,
    shortNames,
    categories,
    namespaced: scope === 'Namespaced',
    hasStatus: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    columns: [nameColumn, ...columns, ...(hasAge ? [] : [ageColumn])],
    schema: version.schema.openAPIV3Schema,
    validate: createObjectValidator(version.schema.openAPIV3Schema, kind, version.subresources?.scale),
  };
}
