/** Contains errors of rendering and loading, so that the rest of the page keeps working. */
import { Stack, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { ErrorAlert } from './page-states.tsx';

const BROKEN = new Error('Reload it: the console may have been updated.');

interface ErrorBoundaryProps {
  children: ReactNode;
}

/** A new `key` resets it. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    if (!this.state.isBroken) return this.props.children;
    return (
      <Stack>
        <Title order={1}>This page could not be loaded</Title>
        <ErrorAlert title="Loading failed" error={BROKEN} action="Reload" onRetry={() => location.reload()} />
      </Stack>
    );
  }
}
