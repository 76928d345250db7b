import { expect } from 'chai';
import { SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../../api/names.ts';
import { describeReading } from '../../../console/web/webhooks/secret-command.ts';

describe('the command that prints the signing secret', () => {
  it("reads the field of the namespace's Secret", () => {
    const command = describeReading('team-a');
    expect(command).to.include(`get secret ${SIGNING_SECRET_NAME} -n team-a`);
    expect(command).to.include(`{.data.${SIGNING_SECRET_FIELD}}`);
  });
});
