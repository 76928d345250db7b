import { Page } from '../parts/page.tsx';

export function DeliveriesPage() {
  return <Page title="Deliveries">{null}</Page>;
}
