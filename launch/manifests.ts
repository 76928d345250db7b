/** Reads the same YAML that `kubectl apply` takes. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { KUBECTL_YAML } from '../console/web/deployment/yaml-text.ts';
import { isObject } from '../kit/json.ts';
import type { KubeObject } from '../kube/object.ts';

export interface ManifestObject {
  /** Where it is written. */
  file: string;
  object: KubeObject;
}

/** All objects of files and folders of YAML. Throws with the file. */
export function readManifests(paths: readonly string[]): ManifestObject[] {
  return paths.flatMap(listYamlFiles).flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8'), KUBECTL_YAML).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
      const value: unknown = document.toJS();
      if (value === null) return [];
      if (!isKubeObject(value))
        throw new Error(`${file}: each document needs apiVersion, kind and metadata.name`);
      return [{ file, object: value }];
    }),
  );
}

const isKubeObject = (value: unknown): value is KubeObject =>
  isObject(value) &&
  typeof value.apiVersion === 'string' &&
  typeof value.kind === 'string' &&
  isObject(value.metadata) &&
  typeof value.metadata.name === 'string';

const listYamlFiles = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => /\.ya?ml$/.test(name))
        .sort()
        .map((name) => join(path, name))
    : [path];
