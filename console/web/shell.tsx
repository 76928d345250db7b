/** Layout around every page: navigation, namespace, user. */
import {
  Anchor,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  NavLink,
  ScrollArea,
  Select,
  Text,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconAlertTriangle,
  IconChartLine,
  IconDatabase,
  IconKey,
  IconListDetails,
  IconSend,
  IconServer,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import { Suspense } from 'react';
import { Link, Outlet, useLocation, useNavigate } from 'react-router';
import type { SessionView } from '../api.ts';
import { useLiveUpdates } from './client/live.ts';
import { useNamespace } from './client/namespace.ts';
import { useAccess, useSignOut } from './client/session.ts';
import { PaletteButton } from './palette-button.tsx';
import { Announcer } from './parts/announcer.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { EmptyState, ErrorAlert, PageLoader } from './parts/page-states.tsx';
import { ProblemCount } from './problems/problem-count.tsx';
import { StatusBanner } from './status-banner.tsx';
import { ThemeButton } from './theme-button.tsx';

const PAGES = [
  { path: 'deployments', label: 'Deployments', Icon: IconServer },
  { path: 'problems', label: 'Problems', Icon: IconAlertTriangle, isCounted: true },
  { path: 'keys', label: 'API keys', Icon: IconKey },
  { path: 'requests', label: 'Requests', Icon: IconListDetails },
  { path: 'usage', label: 'Usage', Icon: IconChartLine },
  { path: 'webhooks', label: 'Webhooks', Icon: IconWebhook },
  { path: 'deliveries', label: 'Deliveries', Icon: IconSend },
  { path: 'storage', label: 'Storage', Icon: IconDatabase },
  { path: 'members', label: 'Members', Icon: IconUsers },
];

export function Shell({ session }: { session: SessionView }) {
  const namespace = useNamespace();
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { isMissing } = useAccess();
  const [isOpen, { toggle, close }] = useDisclosure();
  useLiveUpdates();
  const page = pathname.split('/')[2]?.replace(/^deploy$/, 'deployments') ?? 'deployments';
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 196, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'lg' }}
    >
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header className="frame">
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" flex={1} miw={0}>
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Link to={`/${namespace}/deployments`} className="brand" aria-label="Berth, deployments">
              <img src="/icon.svg" alt="" width={22} height={22} />
              <Text inherit component="span" visibleFrom="xs">
                Berth
              </Text>
            </Link>
            <Select
              aria-label="Namespace"
              data={[...new Set([namespace, ...session.namespaces])]}
              value={namespace}
              onChange={(chosen) => chosen && navigate(`/${chosen}/${page}`)}
              allowDeselect={false}
              searchable
              size="xs"
              flex="0 1 10rem"
              miw={0}
            />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" c="dimmed" visibleFrom="sm" truncate maw="20rem">
              {session.user}
            </Text>
            <PaletteButton pages={PAGES} />
            <ThemeButton />
            <Button
              size="xs"
              variant="default"
              px="xs"
              loading={signOut.isPending}
              onClick={() => signOut.mutate()}
            >
              Sign out
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" className="frame" aria-label="Pages">
        <ScrollArea flex={1}>
          {PAGES.map(({ path, label, Icon, isCounted }) => (
            <NavLink
              key={path}
              component={Link}
              to={`/${namespace}/${path}`}
              label={label}
              leftSection={<Icon size={17} stroke={1.75} aria-hidden />}
              {...(isCounted && { rightSection: <ProblemCount /> })}
              active={page === path}
              aria-current={page === path ? 'page' : undefined}
              onClick={close}
            />
          ))}
        </ScrollArea>
        <Installation session={session} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} style={{ outline: 'none' }}>
        <Announcer />
        <StatusBanner redisAwaySince={session.redisAwaySince} />
        {signOut.error && (
          <Box mb="md">
            <ErrorAlert error={signOut.error} />
          </Box>
        )}
        <Suspense fallback={<PageLoader />}>
          {/* Remounts pages when the URL changes, since their state belongs to one namespace. */}
          <ErrorBoundary key={pathname}>
            {isMissing ? <NoNamespace name={namespace} /> : <Outlet />}
          </ErrorBoundary>
        </Suspense>
      </AppShell.Main>
    </AppShell>
  );
}

/** What is installed, and where it is described. */
function Installation({ session: { version, documentationURL } }: { session: SessionView }) {
  return (
    <Text size="xs" px="sm" py={4}>
      Berth {version} ·{' '}
      <Anchor
        href={documentationURL ?? '/docs/errors'}
        target="_blank"
        rel="noreferrer"
        c="inherit"
        inherit
        underline="always"
      >
        {documentationURL === null ? 'Error codes' : 'Documentation'}
      </Anchor>
    </Text>
  );
}

function NoNamespace({ name }: { name: string }) {
  return (
    <EmptyState title={`Namespace "${name}" not found`}>
      Check the URL, or select another namespace at the top of the page.
    </EmptyState>
  );
}
