/** Keeps what breaks, or could not be loaded, from taking the rest of the page with it. */
import { Component, type ReactNode } from 'react';
import { Fault } from './page-states.tsx';

const BROKEN = new Error('This page could not be loaded. Reload it: the console may have been updated.');

interface ErrorBoundaryProps {
  children: ReactNode;
}

/** Given another `key`, it tries again. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    if (!this.state.isBroken) return this.props.children;
    return <Fault error={BROKEN} action="Reload" onRetry={() => location.reload()} />;
  }
}
