import { Page } from '../parts/page.tsx';

export function DeploymentsPage() {
  return <Page title="Deployments">{null}</Page>;
}
