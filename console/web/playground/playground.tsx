/** The playground for each kind of deployment. */
import type { ComponentType } from 'react';
import type { DeploymentView } from '../../api.ts';
import { useAccess } from '../client/session.ts';
import { ChatPlayground } from './chat.tsx';
import { EmbeddingPlayground } from './embedding.tsx';
import { ImagePlayground } from './image.tsx';
import type { PlaygroundProps } from './playground-props.ts';
import { RerankPlayground } from './rerank.tsx';
import { SpeechPlayground } from './speech.tsx';
import { TranscriptionPlayground } from './transcription.tsx';
import { VideoPlayground } from './video.tsx';

const BY_KIND: Record<DeploymentView['kind'], ComponentType<PlaygroundProps>> = {
  LLM: ChatPlayground,
  Embedding: EmbeddingPlayground,
  Rerank: RerankPlayground,
  Image: ImagePlayground,
  Video: VideoPlayground,
  Transcription: TranscriptionPlayground,
  Speech: SpeechPlayground,
};

export function Playground({ deployment, isShown }: Pick<PlaygroundProps, 'deployment' | 'isShown'>) {
  const { usePlayground: isAllowed } = useAccess();
  const KindPlayground = BY_KIND[deployment.kind];
  return (
    <KindPlayground
      deployment={deployment}
      isShown={isShown}
      permission={{
        isAllowed,
        reason: "You don't have permission to use the playground in this namespace.",
      }}
    />
  );
}
