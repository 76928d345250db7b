/** The playground for each kind of deployment. */
import { Anchor, Box, Text } from '@mantine/core';
import type { ComponentType } from 'react';
import { Link } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { useAccess, useBase } from '../client/session.ts';
import { ChatPlayground } from './chat.tsx';
import { EmbeddingPlayground } from './embedding.tsx';
import { ImagePlayground } from './image.tsx';
import { RerankPlayground } from './rerank.tsx';
import { VideoPlayground } from './video.tsx';

/** Props of AllowedButton. */
export interface Permission {
  isAllowed: boolean | undefined;
  reason: string;
}

export interface PlaygroundProps {
  deployment: DeploymentView;
  /** Of the deployment's endpoint, with /v1. */
  path: string;
  permission: Permission;
  /** False while another tab is shown. */
  isShown: boolean;
}

const BY_KIND: Record<DeploymentView['kind'], ComponentType<PlaygroundProps>> = {
  LLM: ChatPlayground,
  Embedding: EmbeddingPlayground,
  Rerank: RerankPlayground,
  Image: ImagePlayground,
  Video: VideoPlayground,
  Transcription: ExamplesPlayground,
  Speech: ExamplesPlayground,
};

export function Playground({ deployment, isShown }: Pick<PlaygroundProps, 'deployment' | 'isShown'>) {
  const base = useBase();
  const { usePlayground: isAllowed } = useAccess();
  const KindPlayground = BY_KIND[deployment.kind];
  return (
    // A chat has its parameters and its code beside it.
    <Box maw={deployment.kind === 'LLM' ? undefined : '48rem'}>
      <KindPlayground
        deployment={deployment}
        path={`${base}/deployments/${encodeURIComponent(deployment.name)}/v1`}
        isShown={isShown}
        permission={{
          isAllowed,
          reason: "You don't have permission to use the playground in this namespace.",
        }}
      />
    </Box>
  );
}

/** For kinds without a playground: where the code examples are. */
function ExamplesPlayground() {
  return (
    <Text>
      Audio has no playground.{' '}
      <Anchor component={Link} to={{ search: '?tab=connect' }} inherit underline="always">
        Connect
      </Anchor>{' '}
      has examples for curl, Python and TypeScript.
    </Text>
  );
}
