/** The system prompt and parameters of a chat. */
import { NumberInput, Select, SimpleGrid, Stack, Textarea, Title } from '@mantine/core';
import type { ChatSettings } from './chat-settings.ts';

interface ChatSettingsFieldsProps {
  settings: ChatSettings;
  onChange: (settings: ChatSettings) => void;
  /** The model reasons. */
  hasReasoning: boolean;
}

/** `max` of seeds: what every engine takes. */
const NUMBERS = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.1 },
  { name: 'topP', label: 'Top p', min: 0, max: 1, step: 0.05 },
  { name: 'maxTokens', label: 'Max tokens', min: 1, max: 10_000_000, allowDecimal: false },
  { name: 'seed', label: 'Seed', min: 0, max: 2_147_483_647, allowDecimal: false },
] as const;
const EFFORTS = ['low', 'medium', 'high'];
const UNSET = "Model's default";

export function ChatSettingsFields({ settings, onChange, hasReasoning }: ChatSettingsFieldsProps) {
  const change = (changed: Partial<ChatSettings>) => onChange({ ...settings, ...changed });
  return (
    <section aria-labelledby="playground-parameters">
      <Title order={2} size="h4" mb="xs" id="playground-parameters">
        Parameters
      </Title>
      <Stack gap="sm">
        <Textarea
          label="System prompt"
          value={settings.system}
          onChange={(event) => change({ system: event.currentTarget.value })}
          placeholder="None"
          autosize
          minRows={2}
          maxRows={8}
        />
        <SimpleGrid cols={2} spacing="sm" verticalSpacing="sm">
          {NUMBERS.map(({ name, ...field }) => (
            <NumberInput
              key={name}
              {...field}
              value={settings[name]}
              onChange={(value) => change({ [name]: value })}
              placeholder={UNSET}
            />
          ))}
          {hasReasoning && (
            <Select
              label="Reasoning effort"
              data={EFFORTS}
              value={settings.reasoningEffort}
              onChange={(reasoningEffort) => change({ reasoningEffort })}
              placeholder={UNSET}
              clearable
            />
          )}
        </SimpleGrid>
        <Textarea
          label="Stop sequences"
          description="One per line; \n stands for a line break"
          value={settings.stop}
          onChange={(event) => change({ stop: event.currentTarget.value })}
          placeholder="None"
          autosize
          minRows={1}
          maxRows={4}
        />
      </Stack>
    </section>
  );
}
