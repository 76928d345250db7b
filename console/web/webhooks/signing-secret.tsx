/** Rolls the secret that signs a namespace's deliveries, or those to one endpoint. */
import { Alert, Button, Checkbox, Group, Modal, Paper, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import go from '../../../examples/webhooks/receiver.go?raw';
import node from '../../../examples/webhooks/receiver.mjs?raw';
import python from '../../../examples/webhooks/receiver.py?raw';
import shell from '../../../examples/webhooks/verify.sh?raw';
import type { SigningSecretView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { call } from '../client/call.ts';
import { useNamespace } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { CodeTabs } from '../parts/code-tabs.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { describeReading } from './secret-command.ts';

/** Programs that receive and verify deliveries: those that the tests run. */
const RECEIVERS = { 'Node.js': node, Python: python, Go: go, Shell: shell };
const Receivers = () => <CodeTabs texts={RECEIVERS} what="receiver" />;

export function SigningSecret() {
  const namespace = useNamespace();
  return (
    <Paper component="section" withBorder p="md" radius="md" aria-labelledby="signing-secret">
      <Stack gap="sm">
        <Title order={2} size="h4" id="signing-secret">
          Signing secret
        </Title>
        <Text size="sm">
          One secret signs all deliveries in this namespace, except those to endpoints with their own. The
          console shows only a new one, once. With kubectl, those who may read Secrets can see the current
          one:
        </Text>
        <Copyable text={describeReading(namespace)} label="how to read the secret" />
        <Text size="sm">Receivers verify each delivery with it:</Text>
        <Receivers />
        <Text size="sm">
          OpenAI's SDKs (<code>client.webhooks.unwrap()</code>) and the standardwebhooks libraries verify
          deliveries too.
        </Text>
        <Group>
          <RollSecret />
        </Group>
      </Stack>
    </Paper>
  );
}

interface RollSecretProps {
  /** The endpoint whose secret is meant; absent: the namespace's. */
  endpoint?: string;
  size?: string;
}

/** A button that rolls a secret and shows the new one once. */
export function RollSecret({ endpoint, size = 'sm' }: RollSecretProps) {
  const namespace = useNamespace();
  const { rollSecret } = useAccess();
  const [isAsking, { open, close }] = useDisclosure();
  // Rolling the namespace's own ends the old one at once unless its owner asks otherwise (docs/webhooks.md, "Roll the secret").
  const keepsByDefault = endpoint !== undefined;
  const [keepOld, setKeepOld] = useState(keepsByDefault);
  const roll = useAction({
    mutationFn: () =>
      endpoint === undefined
        ? call(routes.rollSigningSecret, { namespace }, { keepOld })
        : call(routes.rollWebhookSecret, { namespace, name: endpoint }, { keepOld }),
    onSuccess: close,
  });
  return (
    <>
      <AllowedButton
        isAllowed={rollSecret}
        reason="You don't have permission to roll the signing secret of this namespace."
        variant="default"
        size={size}
        onClick={() => {
          roll.reset();
          setKeepOld(keepsByDefault);
          open();
        }}
        aria-label={endpoint && `Roll secret of ${endpoint}`}
      >
        {endpoint === undefined ? 'Roll the signing secret' : 'Roll secret'}
      </AllowedButton>
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
      <NewSecret rolled={roll.data} endpoint={endpoint} onClose={roll.reset} />
    </>
  );
}

interface NewSecretProps {
  rolled: SigningSecretView | undefined;
  endpoint: string | undefined;
  onClose: () => void;
}

/** Shows a secret once; nothing but its button closes it. */
export function NewSecret({ rolled, endpoint, onClose }: NewSecretProps) {
  const receivers =
    endpoint === undefined ? 'all receivers in this namespace' : `the receiver of ${endpoint}`;
  return (
    <Modal
      opened={rolled !== undefined}
      onClose={onClose}
      title="New signing secret"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} title="Copy it now">
          You won't see it again. Update {receivers} with it.
        </Alert>
        <Copyable text={rolled?.secret ?? ''} label="signing secret" />
        {rolled?.isInEffect === false && (
          <Text size="sm" role="status">
            Deliveries are still signed with the old secret until the operator has picked up the new one.
          </Text>
        )}
        <Text size="sm">Receivers use it to verify each delivery:</Text>
        <Receivers />
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
