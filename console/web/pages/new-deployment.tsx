/** Deploys a model: a form, the manifest that it makes, and what the API server says of it. */
import '../theme/later-styles.ts';
import { Anchor, Button, SimpleGrid } from '@mantine/core';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { routes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace, useRefresh } from '../client/namespace.ts';
import { ManifestEditor } from '../deployment/manifest-editor.tsx';
import { NewDeploymentForm } from '../deployment/new-deployment-form.tsx';
import { type NewDeployment, writeNewManifest } from '../deployment/new-manifest.ts';
import { announce } from '../parts/announcer.tsx';
import { Page } from '../parts/page.tsx';

const EMPTY: NewDeployment = {
  name: '',
  kind: 'LLM',
  preset: 'vllm',
  modelId: '',
  repo: '',
  image: '',
  args: '',
  gpus: 1,
  gpuMemory: null,
  size: { replicas: 1 },
};

export function NewDeploymentPage() {
  const namespace = useNamespace();
  const refresh = useRefresh();
  const navigate = useNavigate();
  const [wanted, setWanted] = useState(EMPTY);
  /** Written by hand instead of by the form. */
  const [edited, setEdited] = useState<string>();
  const written = writeNewManifest(wanted, namespace);
  const isWhole = wanted.name !== '' && (wanted.modelId !== '' || wanted.repo !== '');
  return (
    <Page
      title="New deployment"
      about={
        <Anchor component={Link} to={`/${namespace}/deployments`} size="sm">
          All deployments
        </Anchor>
      }
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <NewDeploymentForm value={wanted} onChange={setWanted} disabled={edited !== undefined} />
        <ManifestEditor
          yaml={edited ?? written}
          onChange={setEdited}
          dryRun={(body) => call(routes.tryNewDeployment, { namespace }, body)}
          apply={(body) => call(routes.createDeployment, { namespace }, body)}
          action="Deploy"
          isChanged={isWhole || edited !== undefined}
          unchanged="Enter a name and a model first."
          describe={() => null}
          onApplied={({ name }) => {
            announce(`Deployed ${name}.`);
            void refresh(routes.listDeployments);
            void navigate(`/${namespace}/deployments/${encodeURIComponent(name)}?tab=replicas`);
          }}
        >
          {edited !== undefined && (
            <Button variant="default" onClick={() => setEdited(undefined)}>
              Back to the form
            </Button>
          )}
        </ManifestEditor>
      </SimpleGrid>
    </Page>
  );
}
