/** Former specs of a deployment, as the page shows them. Pure. */
import { describeHistory } from '../../../api/spec-history.ts';
import { type Spec, type SpecRevision, specVersion } from '../../../api/spec-revision.ts';
import type { HistoryView } from '../../api.ts';
import { readFieldManager } from '../kubernetes/field-manager.ts';
import type { KubeObject } from '../kubernetes/object.ts';

export function showHistory(object: KubeObject, revisions: readonly SpecRevision[]): HistoryView {
  const spec = object.spec as Spec;
  return {
    revisions: describeHistory(spec, revisions).map(({ manager, ...entry }) => ({
      ...entry,
      ...readFieldManager(manager ?? ''),
    })),
    version: specVersion(spec),
  };
}
