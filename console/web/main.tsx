/** The page's start: theme, data cache, routes. */
import '@mantine/core/styles.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { App } from './app.tsx';
import { CallError } from './call.ts';

const theme = createTheme({ primaryColor: 'blue', cursorType: 'pointer' });

/** The server writes it anew into each page that it serves: the policy lets no other style sheet in. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content;

const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // What is shown stays true without reloading; a hidden page asks nothing.
      refetchInterval: 3_000,
      staleTime: 1_000,
      retry: (failures, error) => failures < 2 && !(error instanceof CallError && error.status < 500),
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={cache}>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce ?? ''}>
        <BrowserRouter>
          <App />
        </BrowserRouter>
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
