/** Warns before a change of a deployment that another program writes from a source of its own. */
import { Alert } from '@mantine/core';

export const CHANGE_REASON = "You don't have permission to change deployments in this namespace.";

export function SourceWarning({ source }: { source: string | null }) {
  if (source === null) return null;
  return (
    <Alert color="yellow" title={`${source} manages this deployment`}>
      {source} will put its own spec back at its next sync or upgrade. Change it there as well.
    </Alert>
  );
}
