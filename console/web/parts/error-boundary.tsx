/** Contains errors of rendering and loading, so that the rest of the page keeps working. */
import { Component, type ReactNode } from 'react';
import { ErrorAlert } from './page-states.tsx';

const BROKEN = new Error('This page could not be loaded. Reload it: the console may have been updated.');

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
    return <ErrorAlert error={BROKEN} action="Reload" onRetry={() => location.reload()} />;
  }
}
