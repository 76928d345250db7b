/** Adds or edits an endpoint, with immediate checks of its URL. */

import { Alert, Checkbox, Modal, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { SigningSecretView, WebhookView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { call, splitError } from '../client/call.ts';
import { useNamespace, useRefresh } from '../client/namespace.ts';
import { FormEnd } from '../parts/form-end.tsx';
import { NameField } from '../parts/name-field.tsx';
import { NewSecret } from './signing-secret.tsx';
import { findURLError } from './url-error.ts';

/** The events that endpoints may subscribe to. */
const EVENT_TYPES = [
  { value: 'request.completed', label: 'request.completed', about: 'A request succeeded.' },
  { value: 'request.failed', label: 'request.failed', about: 'A request failed permanently.' },
  { value: 'request.canceled', label: 'request.canceled', about: 'A queued request was canceled.' },
  { value: 'batch.completed', label: 'batch.completed', about: 'All lines of a batch were run.' },
  { value: 'batch.failed', label: 'batch.failed', about: 'The file of a batch has wrong lines.' },
  { value: 'batch.expired', label: 'batch.expired', about: 'The window of a batch ended first.' },
  { value: 'batch.cancelled', label: 'batch.cancelled', about: 'A batch was cancelled.' },
  { value: 'budget.warning', label: 'budget.warning', about: 'A budget has spent one of its percentages.' },
] as const;

const ALL_EVENT_TYPES = EVENT_TYPES.map(({ value }) => value);
/** As if none were named. */
const DEFAULT_EVENT_TYPES = ALL_EVENT_TYPES.filter((type) => type.startsWith('request.'));

/** On the user's own machine, where receivers may use plain HTTP too. */
const IS_PLAIN_HTTP = location.protocol === 'http:';

interface WebhookDialogProps {
  isOpen: boolean;
  /** null: a new one. */
  webhook: WebhookView | null;
  onClose: () => void;
}

export function WebhookDialog({ isOpen, webhook, onClose }: WebhookDialogProps) {
  const [made, setMade] = useState<{ endpoint: string; secret: SigningSecretView }>();
  return (
    <>
      <Modal
        opened={isOpen}
        onClose={onClose}
        title={webhook ? `Edit ${webhook.name}` : 'New endpoint'}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <WebhookForm key={webhook?.name ?? ''} webhook={webhook} onDone={onClose} onSecret={setMade} />
      </Modal>
      <NewSecret rolled={made?.secret} endpoint={made?.endpoint} onClose={() => setMade(undefined)} />
    </>
  );
}

interface WebhookFormProps {
  webhook: WebhookView | null;
  onDone: () => void;
  /** The endpoint got a secret of its own. */
  onSecret: (made: { endpoint: string; secret: SigningSecretView }) => void;
}

function WebhookForm({ webhook, onDone, onSecret }: WebhookFormProps) {
  const namespace = useNamespace();
  const refresh = useRefresh();
  /** The endpoint being edited, also one that was just created and rejected. */
  const [present, setPresent] = useState(webhook);
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setURL] = useState(webhook?.url ?? '');
  const [wasLeft, setWasLeft] = useState(false);
  const [eventTypes, setEventTypes] = useState<string[]>(webhook?.eventTypes ?? DEFAULT_EVENT_TYPES);
  const [isOwn, setIsOwn] = useState(webhook?.signingSecret === 'Own');
  const fault = url === '' ? null : findURLError(url, IS_PLAIN_HTTP);
  const save = useAction({
    mutationFn: async () => {
      const chosen = ALL_EVENT_TYPES.filter((type) => eventTypes.includes(type));
      const spec = {
        url,
        eventTypes: chosen,
        signingSecret: isOwn ? ('Own' as const) : ('Workspace' as const),
      };
      const saved = present
        ? await call(routes.changeWebhook, { namespace, name }, spec)
        : await call(routes.createWebhook, { namespace }, { name, ...spec });
      setPresent(saved);
      if (isOwn && webhook?.signingSecret !== 'Own' && saved.state !== 'refused')
        onSecret({
          endpoint: name,
          secret: await call(routes.rollWebhookSecret, { namespace, name }, { keepOld: false }),
        });
      return saved;
    },
    onSuccess: (saved) => {
      if (saved.state !== 'refused') onDone();
      return refresh(routes.listWebhooks);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setWasLeft(true);
    if (fault === null && eventTypes.length > 0) save.mutate();
  };
  const verdict = save.data?.state === 'refused' && save.data.url === url ? save.data.message : null;
  const wrong = splitError(save.error, ['name', 'url', 'eventTypes']);
  return (
    <form onSubmit={submit}>
      <Stack>
        <NameField
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={63}
          error={wrong.fields.name}
          readOnly={present !== null}
          variant={present === null ? 'default' : 'filled'}
          data-autofocus={present === null || undefined}
        />
        <TextInput
          label="URL"
          description={
            IS_PLAIN_HTTP
              ? 'Receives a POST request for each event'
              : 'Public HTTPS URL; receives a POST request for each event'
          }
          placeholder="https://example.com/hook"
          type="url"
          value={url}
          onChange={(event) => setURL(event.currentTarget.value)}
          onBlur={() => setWasLeft(true)}
          error={(wasLeft ? fault : null) ?? wrong.fields.url ?? verdict}
          maxLength={2048}
          required
          data-autofocus={present !== null || undefined}
        />
        <Checkbox.Group
          label="Events"
          value={eventTypes}
          onChange={setEventTypes}
          error={eventTypes.length === 0 ? 'Select at least one event.' : wrong.fields.eventTypes}
        >
          <Stack gap="xs" mt="xs">
            {EVENT_TYPES.map(({ value, label, about }) => (
              <Checkbox key={value} value={value} label={label} description={about} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Checkbox
          label="Separate signing secret"
          description="Shown once. Signs deliveries to this endpoint instead of the namespace's secret."
          checked={isOwn}
          onChange={(event) => setIsOwn(event.currentTarget.checked)}
        />
        {verdict && (
          <Alert color="red" role="alert" title="URL rejected">
            The endpoint is saved, but nothing is sent to it until you change its URL.
          </Alert>
        )}
        <FormEnd error={wrong.rest} isBusy={save.isPending}>
          {present ? 'Save' : 'Add'}
        </FormEnd>
      </Stack>
    </form>
  );
}
