/** Entry point: theme, data cache, routes. */
import './styles.ts';
import { Button, type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { App } from './app.tsx';
import { CallError } from './client/call.ts';
import { choosePollInterval } from './client/poll-interval.ts';
import { ErrorBoundary } from './parts/error-boundary.tsx';

const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: 8,
  cursorType: 'pointer',
  respectReducedMotion: true,
  // With reduced motion, Mantine does not center the spinner.
  components: { Button: Button.extend({ styles: { loader: { transform: 'translate(-50%, -50%)' } } }) },
});

/** Some of Mantine's default colors do not meet WCAG contrast. */
const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-7)',
    '--mantine-color-green-light-color': '#1b6b2b',
    '--mantine-color-yellow-light-color': '#854a00',
    '--mantine-color-blue-light-color': '#0f4c81',
    '--mantine-color-red-light-color': '#a61e1e',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
  },
});

/** Set by the server for each page; the content security policy blocks other style sheets. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content;
// Read by the scroll lock of dialogs.
Object.assign(globalThis, { __webpack_nonce__: nonce });

/** If the session has ended, shows the sign-in page. */
const onError = (error: Error) => {
  if (error instanceof CallError && error.status === 401)
    void cache.invalidateQueries({ queryKey: ['session'] });
};

const cache: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    mutations: { networkMode: 'always' },
    queries: {
      // A browser that is offline can still reach a console on this machine.
      networkMode: 'always',
      refetchOnReconnect: 'always',
      // Keeps data up to date; hidden pages do not poll.
      refetchInterval: choosePollInterval,
      staleTime: 1_000,
      retry: (failures, error) => failures < 2 && !(error instanceof CallError && error.status < 500),
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={cache}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={resolveVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce ?? ''}
      >
        <ErrorBoundary>
          <BrowserRouter>
            <App />
          </BrowserRouter>
        </ErrorBoundary>
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
