import { Page } from '../parts/page.tsx';

export function WebhooksPage() {
  return <Page title="Webhooks">{null}</Page>;
}
