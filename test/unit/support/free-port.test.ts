import { expect } from 'chai';
import { findFreePort } from '../../support/child-program.ts';

describe('a free port of tests', () => {
  it('is handed out once, though nothing listens on it yet', async () => {
    const ports: number[] = [];
    for (let count = 0; count < 300; count++) ports.push(await findFreePort());
    expect(new Set(ports).size).to.equal(ports.length);
  });
});
