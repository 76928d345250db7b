/** Programs that write a deployment again from a source of their own, and so undo changes made here. Pure. */

import { z } from 'zod';

const texts = z.record(z.string(), z.unknown()).catch({});
const managed = z.object({
  labels: texts,
  annotations: texts,
  managedFields: z.array(z.object({ manager: z.string().catch(''), fieldsV1: texts })).catch([]),
});

interface Tool {
  name: string;
  /** Field managers of its writes. */
  managers: RegExp;
  /** Labels and annotations that it leaves on its objects. */
  marks: RegExp;
}

const TOOLS: readonly Tool[] = [
  { name: 'Argo CD', managers: /^argocd/, marks: /^argocd\.argoproj\.io\/(tracking-id|instance)$/ },
  {
    name: 'Flux',
    managers: /^(kustomize-controller|helm-controller|flux)/,
    marks: /^(kustomize|helm)\.toolkit\.fluxcd\.io\/name$/,
  },
  { name: 'Helm', managers: /^helm$/i, marks: /^meta\.helm\.sh\/release-name$/ },
];

/** The first of them that wrote the spec, or marked the object as its own. */
export function findSourceOfTruth(metadata: object): string | null {
  const { labels, annotations, managedFields } = managed.parse(metadata);
  const marks = [...Object.keys(labels), ...Object.keys(annotations)];
  const managers = managedFields.flatMap(({ manager, fieldsV1 }) => ('f:spec' in fieldsV1 ? manager : []));
  const found = TOOLS.find(
    (tool) =>
      marks.some((mark) => tool.marks.test(mark)) || managers.some((name) => tool.managers.test(name)),
  );
  return found?.name ?? null;
}
