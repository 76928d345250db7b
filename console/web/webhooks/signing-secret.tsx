/** Rolls the secret that signs all of a namespace's deliveries. */
import { Alert, Button, Checkbox, Group, Modal, Paper, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import type { SecretRoll, SigningSecretView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { useAction } from '../parts/action.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Copyable } from '../parts/copyable.tsx';

const VERIFY = `// Node.js, over the raw request body; "t" and "v1" come from X-Service-Signature: t=…,v1=… (any v1 may match)
const expected = createHmac('sha256', process.env.SIGNING_SECRET).update(t + '.').update(rawBody).digest();
const isValid = timingSafeEqual(expected, Buffer.from(v1, 'hex')) && Math.abs(Date.now() / 1000 - t) < 300;`;

export function SigningSecret() {
  const base = useBase();
  const { rollSecret } = useAccess();
  const [isAsking, { open, close }] = useDisclosure();
  const [keepOld, setKeepOld] = useState(false);
  const roll = useAction({
    mutationFn: () =>
      call<SigningSecretView>('POST', `${base}/signing-secret/roll`, { keepOld } satisfies SecretRoll),
    onSuccess: close,
  });
  return (
    <Paper component="section" withBorder p="md" radius="md" aria-labelledby="signing-secret">
      <Stack gap="sm">
        <Title order={2} size="h4" id="signing-secret">
          Signing secret
        </Title>
        <Text size="sm">
          One secret signs all deliveries in this namespace. You can't view it here; a new secret is shown
          only once.
        </Text>
        <Copyable text={VERIFY} label="how to verify a signature" />
        <Group>
          <AllowedButton
            isAllowed={rollSecret}
            reason="You don't have permission to roll the signing secret of this namespace."
            variant="default"
            onClick={() => {
              roll.reset();
              open();
            }}
          >
            Roll the signing secret
          </AllowedButton>
        </Group>
      </Stack>
      <Confirm
        isOpen={isAsking}
        title="Roll the signing secret?"
        action="Roll"
        onConfirm={() => roll.mutate()}
        onClose={close}
        isPending={roll.isPending}
        error={roll.error}
      >
        <Text size="sm">
          {keepOld
            ? 'For 24 hours, deliveries carry two signatures, one from each secret. Update receivers with the new secret within that time; they must accept a delivery if any v1 signature matches.'
            : 'The old secret expires immediately, also for retries of older events. Receivers reject deliveries until they have the new secret.'}{' '}
          It can take up to 20 seconds until the new secret is shown.
        </Text>
        <Checkbox
          mt="sm"
          label="Keep the old secret for 24 hours"
          checked={keepOld}
          onChange={(event) => setKeepOld(event.currentTarget.checked)}
        />
      </Confirm>
      <Modal
        opened={roll.data !== undefined}
        onClose={roll.reset}
        title="New signing secret"
        closeOnClickOutside={false}
        closeOnEscape={false}
        withCloseButton={false}
        size="lg"
      >
        <Stack>
          <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} title="Copy it now">
            You won't see it again. Update all receivers in this namespace with it.
          </Alert>
          <Copyable text={roll.data?.secret ?? ''} label="signing secret" />
          {roll.data?.isInEffect === false && (
            <Text size="sm" role="status">
              Deliveries are still signed with the old secret until the operator has picked up the new one.
            </Text>
          )}
          <Text size="sm">Receivers use it to verify each delivery:</Text>
          <Copyable text={VERIFY} label="how to verify" />
          <Group justify="flex-end">
            <Button onClick={roll.reset}>Done</Button>
          </Group>
        </Stack>
      </Modal>
    </Paper>
  );
}
