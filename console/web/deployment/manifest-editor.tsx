/** A manifest that is checked by the API server before it is applied. */
import { Alert, Button, Group, List, Stack, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { ManifestResult } from '../../api.ts';
import type { BodyOf, routes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { parseManifest } from './yaml-text.ts';

type ManifestChange = BodyOf<typeof routes.createDeployment>;

interface ManifestEditorProps {
  yaml: string;
  onChange: (yaml: string) => void;
  dryRun: (change: ManifestChange) => Promise<ManifestResult>;
  apply: (change: ManifestChange) => Promise<ManifestResult>;
  /** Version of what is edited. */
  version?: string;
  /** Label of the button that applies it. */
  action: string;
  /** False: there is nothing to apply. */
  isChanged: boolean;
  /** Why there is nothing to apply. */
  unchanged?: string;
  /** What applying would change. */
  describe: (result: ManifestResult) => ReactNode;
  onApplied: (result: ManifestResult) => void;
  /** Beside the buttons. */
  children?: ReactNode;
}

export function ManifestEditor(props: ManifestEditorProps) {
  const {
    yaml,
    onChange,
    version,
    action,
    isChanged,
    unchanged = 'No changes yet.',
    describe,
    onApplied,
    children,
  } = props;
  const { manageDeployments } = useAccess();
  /** What was tried; another text has to be tried again. */
  const [tried, setTried] = useState<{ yaml: string; result: ManifestResult }>();
  const body = (): ManifestChange => ({
    manifest: parseManifest(yaml),
    ...(version !== undefined && { version }),
  });
  const dryRun = useAction({
    mutationFn: async () => ({ yaml, result: await props.dryRun(body()) }),
    onSuccess: (answer) => {
      setTried(answer);
      const { length } = answer.result.warnings;
      announce(
        length === 0 ? 'Checked: valid.' : `Checked: ${length} ${length === 1 ? 'warning' : 'warnings'}.`,
      );
    },
  });
  const apply = useAction({
    mutationFn: () => props.apply(body()),
    onSuccess: (result) => {
      setTried(undefined);
      dryRun.reset();
      onApplied(result);
    },
  });
  const error = apply.error ?? dryRun.error;
  const reviewed = tried?.yaml === yaml && isChanged ? tried.result : undefined;
  const button = {
    isAllowed: manageDeployments,
    reason: "You don't have permission to change deployments in this namespace.",
  };
  return (
    <Stack gap="sm">
      <Textarea
        label="Manifest"
        description="YAML. The API server validates it before anything changes."
        value={yaml}
        onChange={(event) => {
          dryRun.reset();
          apply.reset();
          onChange(event.currentTarget.value);
        }}
        autosize
        minRows={12}
        maxRows={28}
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        maxLength={60_000}
        error={error?.message}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.8125rem' } }}
      />
      {reviewed && (
        <>
          <Warnings warnings={reviewed.warnings} />
          {describe(reviewed)}
        </>
      )}
      <Group>
        {reviewed ? (
          <AllowedButton {...button} loading={apply.isPending} onClick={() => apply.mutate()}>
            {action}
          </AllowedButton>
        ) : (
          <AllowedButton
            {...button}
            isAllowed={manageDeployments && isChanged}
            reason={manageDeployments && !isChanged ? unchanged : button.reason}
            loading={dryRun.isPending}
            onClick={() => dryRun.mutate()}
          >
            Check
          </AllowedButton>
        )}
        {children}
      </Group>
    </Stack>
  );
}

function Warnings({ warnings }: { warnings: string[] }) {
  if (warnings.length === 0)
    return (
      <Alert color="green" role="status" title="Valid">
        The API server accepted it without warnings.
      </Alert>
    );
  return (
    <Alert color="yellow" role="status" title="Valid, with warnings">
      <List size="sm">
        {warnings.map((warning) => (
          <List.Item key={warning}>{warning}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

/** Discards an edit. */
export function DiscardButton({ onClick }: { onClick: () => void }) {
  return (
    <Button variant="default" onClick={onClick}>
      Discard changes
    </Button>
  );
}
