/** The manifest of a deployment, to view and edit. */
import '../theme/later-styles.ts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ManifestView } from '../../api.ts';
import { call } from '../client/call.ts';
import { usePollInterval } from '../client/live.ts';
import { useBase } from '../client/session.ts';
import { announce } from '../parts/announcer.tsx';
import { Loaded } from '../parts/page.tsx';
import { DiffView } from './diff-view.tsx';
import { DiscardButton, ManifestEditor } from './manifest-editor.tsx';
import { formatManifest } from './yaml-text.ts';

export function Manifest({ deployment }: { deployment: string }) {
  const base = useBase();
  const path = `${base}/deployments/${encodeURIComponent(deployment)}`;
  const query = useQuery({
    queryKey: [base, 'deployments', deployment, 'manifest'],
    queryFn: ({ signal }) => call<ManifestView>('GET', `${path}/manifest`, undefined, signal),
    refetchInterval: usePollInterval('deployments'),
  });
  return (
    <Loaded query={query}>
      {(manifest) => <Editor deployment={deployment} path={path} manifest={manifest} />}
    </Loaded>
  );
}

interface EditorProps {
  deployment: string;
  path: string;
  /** As it is now. */
  manifest: ManifestView;
}

function Editor({ deployment, path, manifest }: EditorProps) {
  const base = useBase();
  const cache = useQueryClient();
  /** What is edited, and what it began with; changes of others show only without. */
  const [edit, setEdit] = useState<{ yaml: string; from: ManifestView }>();
  const from = edit?.from ?? manifest;
  const original = formatManifest(from.manifest);
  const yaml = edit?.yaml ?? original;
  return (
    <ManifestEditor
      yaml={yaml}
      onChange={(changed) => setEdit({ yaml: changed, from })}
      paths={{ dryRun: `${path}/dry-run`, apply: path, method: 'PUT' }}
      version={from.version}
      action="Apply"
      isChanged={yaml !== original}
      describe={(result) => <DiffView before={original} after={formatManifest(result.manifest)} />}
      onApplied={async () => {
        announce(`Applied to ${deployment}.`);
        await cache.invalidateQueries({ queryKey: [base, 'deployments'] });
        setEdit(undefined);
      }}
    >
      {edit && <DiscardButton onClick={() => setEdit(undefined)} />}
    </ManifestEditor>
  );
}
