import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { ERRORS, errorDocumentation } from '../../../api/errors.ts';
import { serveErrorPage } from '../../../console/server/page/error-page.ts';
import type { ConsoleState } from '../../../console/server/sessions/request-guards.ts';

describe('the page about errors', () => {
  it('has an anchor for each code, where errors lead to', async () => {
    const app = new Koa<ConsoleState>();
    app.use(serveErrorPage());
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`;
      const response = await fetch(errorDocumentation(site, 'size_not_supported'));
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
      const page = await response.text();
      for (const code of Object.keys(ERRORS)) expect(page).to.contain(`<section id="${code}">`);
      expect(page).to.contain('<code>size</code> is not one of the sizes');
      expect(page).not.to.contain('<API_KEY>');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
