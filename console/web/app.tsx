/** Routes. Pages are loaded lazily. */
import { lazy, Suspense } from 'react';
import { Navigate, Route, Routes } from 'react-router';
import { useSession } from './client/session.ts';
import { useLastError } from './parts/page.tsx';
import { PageLoader, Unreachable } from './parts/page-states.tsx';
import { Shell } from './shell.tsx';

const SignInPage = lazy(async () => ({ default: (await import('./pages/sign-in.tsx')).SignInPage }));
const DeploymentsPage = lazy(async () => ({
  default: (await import('./pages/deployments.tsx')).DeploymentsPage,
}));
const DeploymentPage = lazy(async () => ({
  default: (await import('./pages/deployment.tsx')).DeploymentPage,
}));
const NewDeploymentPage = lazy(async () => ({
  default: (await import('./pages/new-deployment.tsx')).NewDeploymentPage,
}));
const KeysPage = lazy(async () => ({ default: (await import('./pages/keys.tsx')).KeysPage }));
const WebhooksPage = lazy(async () => ({ default: (await import('./pages/webhooks.tsx')).WebhooksPage }));
const DeliveriesPage = lazy(async () => ({
  default: (await import('./pages/deliveries.tsx')).DeliveriesPage,
}));
const RequestsPage = lazy(async () => ({ default: (await import('./pages/requests.tsx')).RequestsPage }));
const UsagePage = lazy(async () => ({ default: (await import('./pages/usage.tsx')).UsagePage }));
const StoragePage = lazy(async () => ({ default: (await import('./pages/storage.tsx')).StoragePage }));

export function App() {
  const session = useSession();
  const error = useLastError(session, session.data !== undefined);
  // After an error, each retry is pending again; the form must stay.
  if (session.isPending && session.errorUpdateCount === 0) return <PageLoader />;
  if (session.data === undefined) return <Unreachable error={error} />;
  if (session.data === null)
    return (
      <Suspense fallback={<PageLoader />}>
        <SignInPage />
      </Suspense>
    );
  const [first = 'default'] = session.data.namespaces;
  return (
    <Suspense fallback={<PageLoader />}>
      <Routes>
        <Route path="/:namespace" element={<Shell key={session.data.user} session={session.data} />}>
          <Route index element={<Navigate to="deployments" replace />} />
          <Route path="deployments" element={<DeploymentsPage />} />
          <Route path="deployments/:name" element={<DeploymentPage />} />
          <Route path="deploy" element={<NewDeploymentPage />} />
          <Route path="keys" element={<KeysPage />} />
          <Route path="webhooks" element={<WebhooksPage />} />
          <Route path="deliveries" element={<DeliveriesPage />} />
          <Route path="requests" element={<RequestsPage />} />
          <Route path="usage" element={<UsagePage />} />
          <Route path="storage" element={<StoragePage />} />
        </Route>
        <Route path="*" element={<Navigate to={`/${first}/deployments`} replace />} />
      </Routes>
    </Suspense>
  );
}
