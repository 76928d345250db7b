/** Entry point: look, data cache, routes. */
import './theme/styles.ts';
import './theme/global.css';
import './theme/frame.css';
import './theme/tables.css';
import './theme/states.css';
import './theme/figures.css';
import './theme/palette.css';
import { MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { App, preloadPage } from './app.tsx';
import { CallError } from './client/call.ts';
import { choosePollInterval } from './client/poll-interval.ts';
import { SESSION } from './client/session.ts';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { resolveVariables, theme } from './theme/theme.ts';

/** Set by the server for each page; the content security policy blocks other style sheets. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content;
// Read by the scroll lock of dialogs.
Object.assign(globalThis, { __webpack_nonce__: nonce });

/** If the session has ended, shows the sign-in page. */
const onError = (error: Error) => {
  if (error instanceof CallError && error.status === 401) void cache.invalidateQueries({ queryKey: SESSION });
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

preloadPage(location.pathname);
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
