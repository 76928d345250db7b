/** Routes. Pages other than the first are loaded lazily: as files of its own, that one would take 4 KB more. */
import { Anchor, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Link, Navigate, Route, Routes } from 'react-router';
import { useNamespace } from './client/namespace.ts';
import { useSession } from './client/session.ts';
import { DeploymentsPage } from './pages/deployments.tsx';
import { Page, useLastError } from './parts/page.tsx';
import { PageLoader, Unreachable } from './parts/page-states.tsx';
import { Shell } from './shell.tsx';

const LOADERS = {
  deployment: async () => (await import('./pages/deployment.tsx')).DeploymentPage,
  deploy: async () => (await import('./pages/new-deployment.tsx')).NewDeploymentPage,
  keys: async () => (await import('./pages/keys.tsx')).KeysPage,
  webhooks: async () => (await import('./pages/webhooks.tsx')).WebhooksPage,
  deliveries: async () => (await import('./pages/deliveries.tsx')).DeliveriesPage,
  requests: async () => (await import('./pages/requests.tsx')).RequestsPage,
  usage: async () => (await import('./pages/usage.tsx')).UsagePage,
  problems: async () => (await import('./pages/problems.tsx')).ProblemsPage,
  members: async () => (await import('./pages/members.tsx')).MembersPage,
  storage: async () => (await import('./pages/storage.tsx')).StoragePage,
};
type PageName = keyof typeof LOADERS;

const load = (name: PageName) => lazy(async () => ({ default: await LOADERS[name]() }));
const SignInPage = lazy(async () => ({ default: (await import('./pages/sign-in.tsx')).SignInPage }));
const DeploymentPage = load('deployment');
const NewDeploymentPage = load('deploy');
const KeysPage = load('keys');
const WebhooksPage = load('webhooks');
const DeliveriesPage = load('deliveries');
const RequestsPage = load('requests');
const UsagePage = load('usage');
const StoragePage = load('storage');
const MembersPage = load('members');
const ProblemsPage = load('problems');

/** Fetches the code of the page that the URL names while the session is being read. */
export function preloadPage(pathname: string): void {
  const [, , page = 'deployments', name] = pathname.split('/');
  const wanted = page === 'deployments' && name ? 'deployment' : page;
  // A failure shows when the page is rendered.
  if (wanted in LOADERS) LOADERS[wanted as PageName]().catch(() => {});
}

export function App() {
  const session = useSession();
  const error = useLastError(session, session.data !== undefined);
  // After an error, each retry is pending again; the form must stay.
  if (session.isPending && session.errorUpdateCount === 0) return <Boot />;
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
          <Route index element={<Start namespaces={session.data.namespaces} />} />
          <Route path="deployments" element={<DeploymentsPage />} />
          <Route path="deployments/:name" element={<DeploymentPage />} />
          <Route path="deploy" element={<NewDeploymentPage />} />
          <Route path="keys" element={<KeysPage />} />
          <Route path="webhooks" element={<WebhooksPage />} />
          <Route path="deliveries" element={<DeliveriesPage />} />
          <Route path="requests" element={<RequestsPage />} />
          <Route path="usage" element={<UsagePage />} />
          <Route path="storage" element={<StoragePage />} />
          <Route path="members" element={<MembersPage />} />
          <Route path="problems" element={<ProblemsPage />} />
          <Route path="*" element={<UnknownPage />} />
        </Route>
        <Route path="/" element={<Navigate to={`/${first}/deployments`} replace />} />
      </Routes>
    </Suspense>
  );
}

/** The start of a namespace. What the user cannot list may as well be a mistaken address. */
function Start({ namespaces }: { namespaces: readonly string[] }) {
  return namespaces.includes(useNamespace()) ? <Navigate to="deployments" replace /> : <UnknownPage />;
}

function UnknownPage() {
  return (
    <Page title="Page not found">
      <Text>
        The console has no page at this address.{' '}
        <Anchor component={Link} to="/" underline="always">
          All deployments
        </Anchor>
      </Text>
    </Page>
  );
}

/** The frame while it is unknown who is signed in: the same as in index.html, so that nothing moves. */
function Boot() {
  return (
    <div className="boot" style={{ margin: 0 }}>
      <header>
        <img src="/icon.svg" alt="" width={22} height={22} />
        Berth
      </header>
      <nav />
      <main aria-busy>
        <p>Loading Berth…</p>
      </main>
    </div>
  );
}
