/** `berth history` and `berth rollback`: former specs of a deployment. */
import { listDifferences, type SpecDifference } from '../../api/spec-difference.ts';
import { describeHistory, type HistoryEntry } from '../../api/spec-history.ts';
import {
  findPrevious,
  isSameSpec,
  restoreSpec,
  type Spec,
  type SpecRevision,
  specVersion,
  writtenSpec,
} from '../../api/spec-revision.ts';
import { isConflict } from '../../kube/api-error.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { listRevisions } from '../../operator/framework/revision-list.ts';
import type { Invocation } from '../framework/command-line.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { type Deployment, findDeployment, warnOfSource } from './deployment.ts';

const { ModelDeployment } = BERTH_RESOURCES;
/** The operator writes the status in between. */
const MAX_ATTEMPTS = 5;
const TIMEOUT_MS = 30_000;

const specOf = ({ spec }: Deployment): Spec => spec as unknown as Spec;

export async function printHistory(target: Target, name: string, output: Output): Promise<void> {
  const deployment = await findDeployment(target, name);
  const entries = describeHistory(specOf(deployment), await listRevisionsOf(target, deployment));
  if (entries.length === 0)
    throw new Failure(
      'not_found',
      `there is no revision of ${name} yet: the operator records each spec, check that it runs`,
    );
  output.show(entries.map(toJSON), () => entries.map(formatEntry).join('\n\n'));
}

const listRevisionsOf = ({ client }: Target, deployment: Deployment): Promise<SpecRevision[]> =>
  listRevisions(client, deployment, AbortSignal.timeout(TIMEOUT_MS));

const toJSON = ({ revision, at, manager, isCurrent, change, rollback }: HistoryEntry) => ({
  revision,
  at,
  manager,
  current: isCurrent,
  change,
  rollback,
});

function formatEntry({ revision, at, manager, isCurrent, change }: HistoryEntry): string {
  const head = `${revision}  ${at}  ${manager ?? 'unknown'}${isCurrent ? '  (current)' : ''}`;
  return change ? `${head}\n${formatDifference(change)}` : `${head}\n  the oldest that is kept`;
}

function formatDifference({ changes, more }: SpecDifference): string {
  const lines = changes.map(
    ({ field, before, after }) => `  ${field}: ${before ?? 'not set'} -> ${after ?? 'not set'}`,
  );
  return [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}

export async function rollBack(
  target: Target,
  { positionals: [named], values }: Invocation,
  output: Output,
): Promise<void> {
  const name = named!;
  const wanted = readRevisionNumber(values.to);
  const first = await findDeployment(target, name);
  const revision = chooseRevision(name, specOf(first), await listRevisionsOf(target, first), wanted);
  const difference = listDifferences(writtenSpec(specOf(first)), revision.spec);
  warnOfSource(first, output);
  await replaceSpec(target, first, (current) => restoreSpec(current, revision.spec));
  const { namespace, where } = target;
  output.show(
    { name, namespace, revision: revision.number, ...difference },
    () => `${name} has the spec of revision ${revision.number} again:\n${formatDifference(difference)}`,
  );
  output.note(`It was written to the namespace ${namespace} of ${where}, and becomes a new revision.`);
}

/** Throws Failure for what is no revision number. */
function readRevisionNumber(text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,8}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Failure('usage', `--to must be the number of a revision, such as 3, not ${text}`);
}

/** Throws Failure with the revisions that there are. */
function chooseRevision(
  name: string,
  current: Spec,
  revisions: readonly SpecRevision[],
  wanted: number | undefined,
): SpecRevision {
  const found =
    wanted === undefined
      ? findPrevious(revisions, current)
      : revisions.find(({ number }) => number === wanted);
  const numbers = revisions.map(({ number }) => number).sort((one, other) => one - other);
  if (!found)
    throw new Failure(
      'not_found',
      wanted === undefined
        ? `${name} has no earlier spec to go back to: see berth history ${name}`
        : `revision ${wanted} of ${name} is not kept; there are ${numbers.join(', ') || 'none'}`,
    );
  if (isSameSpec(found.spec, current))
    throw new Failure('failed', `${name} has the spec of revision ${found.number} already`);
  return found;
}

/** Throws Failure if the spec is not the one of `first` anymore. */
async function replaceSpec(
  target: Target,
  first: Deployment,
  change: (current: Spec) => Spec,
): Promise<void> {
  const { client } = target;
  const { name } = first.metadata;
  const version = specVersion(specOf(first));
  for (let attempt = 1; ; attempt++) {
    const stored = attempt === 1 ? first : await findDeployment(target, name);
    if (specVersion(specOf(stored)) !== version)
      throw new Failure(
        'failed',
        `the spec of ${name} was changed meanwhile, so nothing was rolled back: see berth history ${name}, then try again`,
      );
    try {
      await client.update(ModelDeployment, { ...stored, spec: change(specOf(stored)) }, { isStrict: true });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
