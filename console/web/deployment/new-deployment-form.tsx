/** What a new deployment needs, for each engine. */
import {
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import {
  type EnginePreset,
  MODEL_KINDS,
  type ModelKind,
  PRESETS_BY_KIND,
} from '../../../api/engine-presets.ts';
import { ENGINE_TRAITS } from '../../../api/engine-traits.ts';
import type { NewDeployment } from './new-manifest.ts';

interface NewDeploymentFormProps {
  value: NewDeployment;
  onChange: (value: NewDeployment) => void;
  disabled: boolean;
}

const WHOLE = { allowDecimal: false, allowNegative: false, clampBehavior: 'strict', max: 1_000 } as const;

export function NewDeploymentForm({ value, onChange, disabled }: NewDeploymentFormProps) {
  const { name, kind, preset, modelId, repo, image, args, gpus, gpuMemory, size } = value;
  const set = (change: Partial<NewDeployment>) => onChange({ ...value, ...change });
  const setPreset = (preset: EnginePreset) => set({ preset, gpus: ENGINE_TRAITS[preset].suggestedGPUs });
  const setKind = (kind: ModelKind) => {
    const fitting = PRESETS_BY_KIND[kind].includes(preset) ? preset : PRESETS_BY_KIND[kind][0]!;
    set({ kind, preset: fitting, ...(fitting !== preset && { gpus: ENGINE_TRAITS[fitting].suggestedGPUs }) });
  };
  const isSimulator = preset === 'simulator';
  return (
    <Fieldset disabled={disabled} variant="unstyled">
      <Stack>
        <TextInput
          label="Name"
          description="Lowercase letters, numbers and hyphens; also part of its URL"
          value={name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          maxLength={45}
          required
        />
        <Group grow align="flex-start">
          <Select
            label="Kind"
            data={[...MODEL_KINDS]}
            value={kind}
            onChange={(chosen) => chosen && setKind(chosen)}
            allowDeselect={false}
          />
          <Select
            label="Engine"
            data={PRESETS_BY_KIND[kind].map((one) => ({ value: one, label: ENGINE_TRAITS[one].label }))}
            value={preset}
            onChange={(chosen) => chosen && setPreset(chosen)}
            allowDeselect={false}
          />
        </Group>
        {!isSimulator && (
          <TextInput
            label="Hugging Face repository"
            description="Source of the weights. For other sources, edit the YAML."
            placeholder="Qwen/Qwen3-8B"
            value={repo}
            onChange={(event) => set({ repo: event.currentTarget.value.trim() })}
            maxLength={200}
          />
        )}
        <TextInput
          label="Model"
          description="The model name that clients send"
          placeholder={repo || 'acme/chat'}
          value={modelId}
          onChange={(event) => set({ modelId: event.currentTarget.value.trim() })}
          maxLength={200}
          required={repo === '' || isSimulator}
        />
        {preset === 'custom' && (
          <TextInput
            label="Image"
            description="Must serve the OpenAI API on 127.0.0.1:$(ENGINE_PORT)"
            value={image}
            onChange={(event) => set({ image: event.currentTarget.value.trim() })}
            maxLength={512}
            required
          />
        )}
        {!isSimulator && (
          <Group grow align="flex-start">
            <NumberInput
              {...WHOLE}
              label="GPUs per replica"
              description="0 runs on the CPU"
              min={0}
              max={64}
              value={gpus}
              onChange={(count) => set({ gpus: Number(count) })}
            />
            <NumberInput
              {...WHOLE}
              label="Memory per GPU"
              description="Checks whether the model fits"
              placeholder="From the nodes"
              suffix=" GiB"
              min={1}
              value={gpuMemory ?? ''}
              onChange={(gib) => set({ gpuMemory: gib === '' ? null : Number(gib) })}
              disabled={gpus === 0}
            />
          </Group>
        )}
        <SegmentedControl
          aria-label="Size"
          data={[
            { value: 'fixed', label: 'Fixed size' },
            { value: 'scaled', label: 'Autoscaling' },
          ]}
          value={'replicas' in size ? 'fixed' : 'scaled'}
          onChange={(chosen) => set({ size: chosen === 'fixed' ? { replicas: 1 } : { min: 0, max: 2 } })}
          disabled={disabled}
        />
        {'replicas' in size ? (
          <NumberInput
            {...WHOLE}
            label="Replicas"
            min={0}
            value={size.replicas}
            onChange={(count) => set({ size: { replicas: Number(count) } })}
          />
        ) : (
          <Group grow align="flex-start">
            <NumberInput
              {...WHOLE}
              label="Minimum"
              description="0 allows scaling to zero"
              min={0}
              value={size.min}
              onChange={(count) => set({ size: { ...size, min: Number(count) } })}
            />
            <NumberInput
              {...WHOLE}
              label="Maximum"
              description="Scales with demand"
              min={1}
              value={size.max}
              onChange={(count) => set({ size: { ...size, max: Number(count) } })}
            />
          </Group>
        )}
        {!isSimulator && (
          <Textarea
            label="Engine arguments"
            description="One per line, in addition to the preset's"
            placeholder="--max-model-len=32768"
            value={args}
            onChange={(event) => set({ args: event.currentTarget.value })}
            autosize
            minRows={2}
            maxRows={8}
          />
        )}
      </Stack>
    </Fieldset>
  );
}
