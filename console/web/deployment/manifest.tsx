/** The manifest of a deployment, to view and edit. */
import '../theme/later-styles.ts';
import { useState } from 'react';
import type { ManifestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { usePollInterval } from '../client/live.ts';
import { useNamespace, useRead, useRefresh } from '../client/namespace.ts';
import { announce } from '../parts/announcer.tsx';
import { Loaded } from '../parts/page.tsx';
import { DiffView } from './diff-view.tsx';
import { DiscardButton, ManifestEditor } from './manifest-editor.tsx';
import { formatManifest } from './yaml-text.ts';

export function Manifest({ deployment }: { deployment: string }) {
  const query = useRead(
    routes.readManifest,
    { name: deployment },
    { refetchInterval: usePollInterval('deployments') },
  );
  return (
    <Loaded query={query}>{(manifest) => <Editor deployment={deployment} manifest={manifest} />}</Loaded>
  );
}

interface EditorProps {
  deployment: string;
  /** As it is now. */
  manifest: ManifestView;
}

function Editor({ deployment, manifest }: EditorProps) {
  const namespace = useNamespace();
  const refresh = useRefresh();
  /** What is edited, and what it began with; changes of others show only without. */
  const [edit, setEdit] = useState<{ yaml: string; from: ManifestView }>();
  const from = edit?.from ?? manifest;
  const original = formatManifest(from.manifest);
  const yaml = edit?.yaml ?? original;
  return (
    <ManifestEditor
      yaml={yaml}
      onChange={(changed) => setEdit({ yaml: changed, from })}
      dryRun={(body) => call(routes.tryDeployment, { namespace, name: deployment }, body)}
      apply={(body) => call(routes.replaceDeployment, { namespace, name: deployment }, body)}
      version={from.version}
      action="Apply"
      isChanged={yaml !== original}
      describe={(result) => <DiffView before={original} after={formatManifest(result.manifest)} />}
      onApplied={async () => {
        announce(`Applied to ${deployment}.`);
        await refresh(routes.listDeployments, routes.readDeployment, routes.readManifest);
        setEdit(undefined);
      }}
    >
      {edit && <DiscardButton onClick={() => setEdit(undefined)} />}
    </ManifestEditor>
  );
}
