import { Page } from '../parts/page.tsx';

export function StoragePage() {
  return <Page title="Storage">{null}</Page>;
}
